// finding: failed an assertion
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t filled, empty;
static int slot, sum;
static void *consume(void *argument)
{
    for (int i = 0; i < 2; i++) {
        sem_wait(&filled);
        sum += slot;
        sem_post(&empty);
    }
    return argument;
}
int main(void)
{
    pthread_t thread;
    assert(sem_init(&filled, 0, 0) == 0 && sem_init(&empty, 0, 2) == 0);
    assert(sem_trywait(&filled) == -1 && errno == EAGAIN);
    pthread_create(&thread, 0, consume, 0);
    for (int i = 1; i <= 2; i++) {
        sem_wait(&empty);
        slot = i;
        sem_post(&filled);
    }
    pthread_join(thread, 0);
    int value = -1;
    assert(sem_getvalue(&filled, &value) == 0 && value == 0);
    assert(sum == 3);
    sem_destroy(&filled);
    sem_destroy(&empty);
    return 0;
}

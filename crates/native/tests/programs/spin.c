// verified
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_spinlock_t lock;
static int count, tried;
static void *add(void *argument)
{
    pthread_spin_lock(&lock);
    count++;
    pthread_spin_unlock(&lock);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_spin_init(&lock, 0);
    pthread_create(&thread, 0, add, 0);
    int result = pthread_spin_trylock(&lock);
    assert(result == 0 || result == EBUSY);
    if (result == 0) {
        count++;
        pthread_spin_unlock(&lock);
    }
    tried = result == 0;
    pthread_join(thread, 0);
    assert(count == 1 + tried);
    pthread_spin_destroy(&lock);
    return 0;
}

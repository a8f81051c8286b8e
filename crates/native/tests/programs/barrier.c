// verified 2
#include <assert.h>
#include <pthread.h>
static pthread_barrier_t barrier;
static int values[2], serial;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *argument)
{
    int me = argument != 0;
    values[me] = 1;
    int result = pthread_barrier_wait(&barrier);
    assert(values[1 - me] == 1);
    assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    if (result) {
        pthread_mutex_lock(&mutex);
        serial++;
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
int main(void)
{
    pthread_t thread;
    assert(pthread_barrier_init(&barrier, 0, 2) == 0);
    pthread_create(&thread, 0, work, &thread);
    work(0);
    pthread_join(thread, 0);
    assert(serial == 1);
    pthread_barrier_destroy(&barrier);
    return 0;
}

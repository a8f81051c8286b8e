// verified
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, taken;
static void *consume(void *argument)
{
    pthread_mutex_lock(&mutex);
    while (items == 0)
        pthread_cond_wait(&filled, &mutex);
    items--;
    taken++;
    pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, consume, 0);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&mutex);
        items++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&filled);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(taken == 2 && items == 0);
    pthread_cond_destroy(&filled);
    return 0;
}

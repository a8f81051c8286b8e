// deadlock: consumer
#define _GNU_SOURCE
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *argument)
{
    pthread_setname_np(pthread_self(), "consumer");
    pthread_mutex_lock(&mutex);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, 0);
    return 0;
}

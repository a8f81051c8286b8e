// deadlock
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_set;
static void *wait_for_it(void *argument)
{
    pthread_mutex_lock(&mutex);
    int seen = is_set;
    pthread_mutex_unlock(&mutex);
    if (!seen) {
        pthread_mutex_lock(&mutex);
        pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_it, 0);
    pthread_mutex_lock(&mutex);
    is_set = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}

// verified
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_set;
static void *wait_for_it(void *argument)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&mutex);
    int result = 0;
    while (!is_set && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&changed, &mutex, &until);
    assert(result == 0 || result == ETIMEDOUT);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    assert(result == 0 || now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
    pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, wait_for_it, 0);
    pthread_mutex_lock(&mutex);
    is_set = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    return 0;
}

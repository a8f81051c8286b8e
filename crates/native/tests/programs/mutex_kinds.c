// verified
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t made;
static int shared;
static void *other(void *argument)
{
    assert(pthread_mutex_unlock(&checking) == EPERM);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    int result = pthread_mutex_trylock(&recursive);
    assert(result == 0 || result == EBUSY);
    if (result == 0) {
        shared++;
        assert(pthread_mutex_unlock(&recursive) == 0);
    }
    struct timespec until = {.tv_sec = 1};
    result = pthread_mutex_timedlock(&made, &until);
    assert(result == 0 || result == ETIMEDOUT);
    if (result == 0)
        assert(pthread_mutex_unlock(&made) == 0);
    return argument;
}
int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&made, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_lock(&recursive) == 0);
    assert(pthread_mutex_trylock(&recursive) == 0);
    shared++;
    assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == 0);
    assert(pthread_mutex_unlock(&recursive) == EPERM);
    assert(pthread_mutex_lock(&checking) == 0);
    assert(pthread_mutex_lock(&checking) == EDEADLK);
    assert(pthread_mutex_trylock(&checking) == EBUSY);
    assert(pthread_mutex_unlock(&checking) == 0);
    assert(pthread_mutex_lock(&made) == 0);
    assert(pthread_mutex_lock(&made) == 0);
    assert(pthread_mutex_unlock(&made) == 0);
    assert(pthread_mutex_unlock(&made) == 0);
    assert(pthread_mutex_lock(&normal) == 0);
    assert(pthread_mutex_trylock(&normal) == EBUSY);
    assert(pthread_mutex_unlock(&normal) == 0);
    assert(pthread_mutex_lock(&adaptive) == 0);
    assert(pthread_mutex_unlock(&adaptive) == 0);
    pthread_join(thread, 0);
    assert(pthread_mutex_destroy(&made) == 0);
    return 0;
}

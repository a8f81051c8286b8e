// verified
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key, other;
static int destroyed;
static void destroy(void *value)
{
    destroyed += *(int *)value;
    free(value);
}
static void again(void *value)
{
    /* A value that is set in a destructor has another round. */
    int *left = value;
    if (--*left > 0)
        pthread_setspecific(other, left);
    else
        destroyed += 10;
}
static void *work(void *argument)
{
    static _Thread_local int rounds = 3;
    assert(pthread_getspecific(key) == 0);
    int *value = malloc(sizeof *value);
    *value = 1;
    pthread_setspecific(key, value);
    pthread_setspecific(other, &rounds);
    assert(pthread_getspecific(key) == value);
    return argument;
}
static void *exiting(void *argument)
{
    work(0);
    pthread_exit(argument);
}
int main(void)
{
    assert(pthread_key_create(&key, destroy) == 0);
    assert(pthread_key_create(&other, again) == 0);
    pthread_t thread;
    void *result = 0;
    pthread_create(&thread, 0, work, &key);
    pthread_join(thread, &result);
    assert(result == &key && destroyed == 11);
    pthread_create(&thread, 0, exiting, &other);
    pthread_join(thread, &result);
    assert(result == &other && destroyed == 22);
    pthread_key_delete(key);
    return 0;
}

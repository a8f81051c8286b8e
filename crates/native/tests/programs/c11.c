// verified
#include <assert.h>
#include <threads.h>
static mtx_t mutex;
static cnd_t changed;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static int ready, runs, dropped;
static void initialize(void) { runs++; }
static void drop(void *value) { dropped = *(int *)value; }
static int work(void *argument)
{
    call_once(&once, initialize);
    tss_set(key, argument);
    mtx_lock(&mutex);
    ready = 1;
    cnd_signal(&changed);
    mtx_unlock(&mutex);
    return 42;
}
int main(void)
{
    int seven = 7;
    assert(mtx_init(&mutex, mtx_plain) == thrd_success);
    assert(cnd_init(&changed) == thrd_success);
    assert(tss_create(&key, drop) == thrd_success);
    thrd_t thread;
    assert(thrd_create(&thread, work, &seven) == thrd_success);
    call_once(&once, initialize);
    mtx_lock(&mutex);
    assert(mtx_trylock(&mutex) == thrd_busy);
    while (!ready)
        cnd_wait(&changed, &mutex);
    mtx_unlock(&mutex);
    int result = 0;
    assert(thrd_join(thread, &result) == thrd_success && result == 42);
    assert(runs == 1 && dropped == 7);
    cnd_destroy(&changed);
    mtx_destroy(&mutex);
    return 0;
}

// verified 2
#include <assert.h>
#include <pthread.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int value, runs;
static void initialize(void)
{
    runs++;
    value = 7;
}
static void *use(void *argument)
{
    pthread_once(&once, initialize);
    assert(value == 7 && runs == 1);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, use, 0);
    use(0);
    pthread_join(thread, 0);
    return 0;
}

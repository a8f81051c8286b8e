// verified
#include <assert.h>
#include <pthread.h>
static int order;
static void note(void *argument)
{
    order = order * 10 + *(int *)argument;
}
static void leave(void)
{
    int three = 3;
    pthread_cleanup_push(note, &three);
    pthread_exit(&order);
    pthread_cleanup_pop(0);
}
static void *work(void *argument)
{
    int one = 1, two = 2, four = 4;
    pthread_cleanup_push(note, &one);
    pthread_cleanup_push(note, &two);
    pthread_cleanup_push(note, &four);
    pthread_cleanup_pop(1);
    leave();
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return argument;
}
int main(void)
{
    pthread_t thread;
    void *result = 0;
    pthread_create(&thread, 0, work, 0);
    pthread_join(thread, &result);
    assert(result == &order);
    assert(order == 4321);
    return 0;
}

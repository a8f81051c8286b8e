// verified 2
#include <pthread.h>
static pthread_barrier_t barrier;
static void *work(void *argument)
{
    pthread_barrier_wait(&barrier);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
    return 0;
}

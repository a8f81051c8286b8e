// verified 2
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int a;
static void *write_it(void *argument)
{
    pthread_rwlock_wrlock(&lock);
    a++;
    pthread_rwlock_unlock(&lock);
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, write_it, 0);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_join(thread, 0);
    return 0;
}

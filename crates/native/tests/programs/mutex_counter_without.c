// race
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *add(void *argument)
{
    if (argument)
        pthread_mutex_lock(&mutex);
    count++;
    if (argument)
        pthread_mutex_unlock(&mutex);
    return argument;
}
int main(void)
{
    pthread_t first, second;
    pthread_create(&first, 0, add, 0);
    pthread_create(&second, 0, add, &count);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}

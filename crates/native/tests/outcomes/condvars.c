// Which of two waiters takes the item.
#include "outcome.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items, first = 1, closed;
static void *work(void *argument)
{
    int me = argument != 0;
    delay(me);
    pthread_mutex_lock(&mutex);
    while (items == 0 && !closed)
        pthread_cond_wait(&changed, &mutex);
    if (items) {
        items--;
        first = me + 2;
    }
    pthread_mutex_unlock(&mutex);
    return 0;
}
int main(int count, char **arguments)
{
    begin(count, arguments);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, work, &mutex);
    delay(7);
    pthread_mutex_lock(&mutex);
    items = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    delay(8);
    pthread_mutex_lock(&mutex);
    closed = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return end(first);
}

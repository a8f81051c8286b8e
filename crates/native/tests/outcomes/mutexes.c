// Which threads find the mutex held.
#include "outcome.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int results[2];
static void *work(void *argument)
{
    int me = argument != 0;
    delay(me);
    if (pthread_mutex_trylock(&mutex) == 0) {
        delay(me + 2);
        results[me] = 1;
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
int main(int count, char **arguments)
{
    begin(count, arguments);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, work, &mutex);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return end(results[0] + 2 * results[1]);
}

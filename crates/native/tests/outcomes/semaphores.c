// Which of two threads gets the only unit, and whether the other one comes too late.
#include "outcome.h"
#include <semaphore.h>
static sem_t units;
static int got[2];
static void *work(void *argument)
{
    int me = argument != 0;
    delay(me);
    got[me] = sem_trywait(&units) == 0;
    return 0;
}
int main(int count, char **arguments)
{
    begin(count, arguments);
    sem_init(&units, 0, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, work, &units);
    delay(5);
    sem_post(&units);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return end(got[0] + 2 * got[1]);
}

// Which thread initializes.
#include "outcome.h"
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local int me;
static int who;
static void initialize(void) { who = me; }
static void *work(void *argument)
{
    me = argument ? 2 : 1;
    delay(me);
    pthread_once(&once, initialize);
    return 0;
}
int main(int count, char **arguments)
{
    begin(count, arguments);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, work, &once);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return end(who);
}

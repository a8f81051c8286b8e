// What two readers see while a writer writes twice.
#include "outcome.h"
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value, seen[2];
static void *work(void *argument)
{
    int me = argument != 0;
    delay(me);
    pthread_rwlock_rdlock(&lock);
    seen[me] = value;
    delay(me + 2);
    pthread_rwlock_unlock(&lock);
    return 0;
}
int main(int count, char **arguments)
{
    begin(count, arguments);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, 0);
    pthread_create(&threads[1], 0, work, &lock);
    delay(4);
    pthread_rwlock_wrlock(&lock);
    value = 1;
    pthread_rwlock_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return end(seen[0] + 2 * seen[1]);
}

/* Two threads that each want to be alone: a lock in the style of Dekker, without fences. */

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int wants[2];
static atomic_int inside;

static void *enter(void *number) {
    int own = number != NULL;
    atomic_store_explicit(&wants[own], 1, memory_order_release);
    if (!atomic_load_explicit(&wants[!own], memory_order_acquire)) {
        assert(atomic_fetch_add(&inside, 1) == 0);
        atomic_fetch_sub(&inside, 1);
    }
    return NULL;
}

int main(void) {
    pthread_t second;
    pthread_create(&second, NULL, enter, "second");
    enter(NULL);
    pthread_join(second, NULL);
    return 0;
}

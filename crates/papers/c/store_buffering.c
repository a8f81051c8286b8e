/* Store buffering: see store_buffering.rs. */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "version.h"

static atomic_bool x, y;
static bool saw_x, saw_y;

static void *first(void *unused) {
    (void)unused;
    STORE(&x, true);
    FENCE(memory_order_seq_cst);
    saw_y = LOAD(&y);
    return NULL;
}

static void *second(void *unused) {
    (void)unused;
    STORE(&y, true);
    FENCE(memory_order_seq_cst);
    saw_x = LOAD(&x);
    return NULL;
}

/* Two threads. At least one sees what the other has stored. */
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert((saw_x || saw_y) && "neither thread has seen the other");
    return 0;
}

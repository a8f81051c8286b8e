/* Dekker's lock for two threads: see dekker.rs. */

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

static atomic_bool wants[2];
/* Who goes first if both want to enter. */
static atomic_size_t turn;
static _Atomic uint32_t count;

static void lock(size_t me) {
    size_t other = 1 - me;
    STORE(&wants[me], true);
    FENCE(memory_order_seq_cst);
    while (LOAD(&wants[other])) {
        if (LOAD(&turn) == other) {
            STORE(&wants[me], false);
            FENCE(memory_order_seq_cst);
            while (LOAD(&turn) == other)
                sched_yield();
            STORE(&wants[me], true);
            FENCE(memory_order_seq_cst);
        }
        sched_yield();
    }
}

static void unlock(size_t me) {
    STORE(&turn, 1 - me);
    PUBLISH(&wants[me], false);
}

static void *enter_twice(void *number) {
    size_t me = (size_t)(uintptr_t)number;
    for (int round = 0; round < 2; round++) {
        lock(me);
        uint32_t before = LOAD(&count);
        STORE(&count, before + 1);
        unlock(me);
    }
    return NULL;
}

/* Two threads enter twice each, and count. */
int main(void) {
    pthread_t threads[2];
    for (uintptr_t me = 0; me < 2; me++)
        pthread_create(&threads[me], NULL, enter_twice, (void *)me);
    for (int me = 0; me < 2; me++)
        pthread_join(threads[me], NULL);
    assert(LOAD(&count) == 4 && "both were inside");
    return 0;
}

/* Lamport's bakery: see bakery.rs. */

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

static atomic_bool is_drawing[2];
/* The threads' numbers; 0 for one that does not want to enter. */
static _Atomic uint32_t numbers[2];
static _Atomic uint32_t count;

static void lock(size_t me) {
    size_t other = 1 - me;
    STORE(&is_drawing[me], true);
    FENCE(memory_order_seq_cst);
    uint32_t mine = 1 + LOAD(&numbers[other]);
    STORE(&numbers[me], mine);
    PUBLISH(&is_drawing[me], false);
    FENCE(memory_order_seq_cst);
    while (LOAD(&is_drawing[other]))
        sched_yield();
    for (;;) {
        uint32_t others = LOAD(&numbers[other]);
        if (others == 0 || mine < others || (mine == others && me < other))
            return;
        sched_yield();
    }
}

static void unlock(size_t me) {
    PUBLISH(&numbers[me], 0);
}

static void *enter(void *number) {
    size_t me = (size_t)(uintptr_t)number;
    int rounds = me == 0 ? 2 : 1;
    for (int round = 0; round < rounds; round++) {
        lock(me);
        uint32_t before = LOAD(&count);
        STORE(&count, before + 1);
        unlock(me);
    }
    return NULL;
}

/* Two threads count, one of them twice. */
int main(void) {
    pthread_t threads[2];
    for (uintptr_t me = 0; me < 2; me++)
        pthread_create(&threads[me], NULL, enter, (void *)me);
    for (int me = 0; me < 2; me++)
        pthread_join(threads[me], NULL);
    assert(LOAD(&count) == 3 && "both were inside");
    return 0;
}

/* Snark, a deque with double compare-and-swap: see snark.rs. */

#include <assert.h>
#include <fencepost.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

/* No item. */
#define NONE 0
/* The node beyond both ends, whose links are to itself. */
#define DUMMY 0
#define LEFT 0
#define RIGHT 1

static struct {
    _Atomic uint32_t value;
    /* To the left and to the right. A link to itself is in a node that is no part of the deque. */
    atomic_size_t links[2];
} nodes[3];
/* The nodes at the left and at the right end. */
static atomic_size_t hats[2];

static bool exchange_both(atomic_size_t *one, size_t expected, size_t new, atomic_size_t *other,
                          size_t other_expected, size_t other_new) {
    struct fencepost_change changes[2] = {{one, expected, new}, {other, other_expected, other_new}};
    return fencepost_double_compare_exchange(changes);
}

/* Adds an item at one side, in a node that was not used before. */
static void push(int side, size_t node, uint32_t value) {
    STORE(&nodes[node].links[side], DUMMY);
    STORE(&nodes[node].value, value);
    for (;;) {
        size_t end = LOAD(&hats[side]);
        size_t beyond = LOAD(&nodes[end].links[side]);
        atomic_size_t *other;
        size_t expected;
        if (beyond == end) {
            /* It is empty, so the node is at the other end too. */
            STORE(&nodes[node].links[1 - side], DUMMY);
            other = &hats[1 - side];
            expected = LOAD(other);
        } else {
            STORE(&nodes[node].links[1 - side], end);
            other = &nodes[end].links[side];
            expected = beyond;
        }
        FENCE(memory_order_release);
        if (exchange_both(&hats[side], end, node, other, expected, node))
            return;
    }
}

/* Takes the item at one side. */
static uint32_t pop(int side) {
    for (;;) {
        size_t end = LOAD(&hats[side]);
        size_t other_end = LOAD(&hats[1 - side]);
        if (LOAD(&nodes[end].links[side]) == end)
            return NONE;
        if (end == other_end) {
            if (exchange_both(&hats[side], end, DUMMY, &hats[1 - side], end, DUMMY))
                return LOAD(&nodes[end].value);
            continue;
        }
        atomic_size_t *link = &nodes[end].links[1 - side];
        size_t inner = LOAD(link);
        if (exchange_both(&hats[side], end, inner, link, inner, end))
            return LOAD(&nodes[end].value);
    }
}

static void *use_left(void *unused) {
    (void)unused;
    push(LEFT, 1, 10);
    return (void *)(uintptr_t)pop(LEFT);
}

static void *push_right(void *unused) {
    (void)unused;
    push(RIGHT, 2, 20);
    return NONE;
}

static void *pop_right(void *unused) {
    (void)unused;
    return (void *)(uintptr_t)pop(RIGHT);
}

/* One thread pushes at the left and tries to pop there, one pushes at the right, and one tries to pop there. Each item is taken
   once. */
int main(void) {
    void *(*const bodies[3])(void *) = {use_left, push_right, pop_right};
    pthread_t threads[3];
    int times[3] = {0, 0, 0};
    for (int number = 0; number < 3; number++)
        pthread_create(&threads[number], NULL, bodies[number], NULL);
    for (int number = 0; number < 3; number++) {
        void *taken;
        pthread_join(threads[number], &taken);
        times[(uintptr_t)taken / 10]++;
    }
    uint32_t item;
    while ((item = pop(LEFT)) != NONE)
        times[item / 10]++;
    assert(times[1] == 1 && times[2] == 1 && "each item is taken once");
    return 0;
}

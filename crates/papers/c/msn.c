/* The non-blocking queue of Michael and Scott: see msn.rs. */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue_main.h"
#include "version.h"

/* No node. */
#define NIL 0
/* The node that is there at the beginning. Its value is no item. */
#define DUMMY 1

static struct {
    _Atomic uint32_t value;
    atomic_size_t next;
} nodes[5];
static atomic_size_t head = DUMMY, tail = DUMMY;

static bool exchange(atomic_size_t *variable, size_t expected, size_t new) {
    return atomic_compare_exchange_strong_explicit(variable, &expected, new, RELAXED, RELAXED);
}

/* Puts an item at the end, in a node that was not used before. */
static void enqueue(size_t node, uint32_t value) {
    STORE(&nodes[node].value, value);
    STORE(&nodes[node].next, NIL);
    FENCE(memory_order_release);
    size_t last;
    for (;;) {
        last = LOAD(&tail);
        size_t next = LOAD(&nodes[last].next);
        if (last != LOAD(&tail))
            continue;
        if (next != NIL)
            exchange(&tail, last, next); /* Helps who has linked a node. */
        else if (exchange(&nodes[last].next, NIL, node))
            break;
    }
    exchange(&tail, last, node);
}

/* Takes the first item. */
static uint32_t dequeue(void) {
    for (;;) {
        size_t first = LOAD(&head);
        size_t last = LOAD(&tail);
        size_t next = LOAD(&nodes[first].next);
        if (first != LOAD(&head))
            continue;
        if (first != last) {
            uint32_t value = LOAD(&nodes[next].value);
            if (exchange(&head, first, next))
                return value;
        } else if (next == NIL) {
            return NONE;
        } else {
            exchange(&tail, last, next);
        }
    }
}

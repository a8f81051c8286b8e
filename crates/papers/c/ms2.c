/* The two-lock queue of Michael and Scott: see ms2.rs. */

#include <assert.h>
#include <pthread.h>
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
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t putting = PTHREAD_MUTEX_INITIALIZER;

/* Puts an item at the end, in a node that was not used before. */
static void enqueue(size_t node, uint32_t value) {
    STORE(&nodes[node].value, value);
    STORE(&nodes[node].next, NIL);
    pthread_mutex_lock(&putting);
    size_t last = LOAD(&tail);
    PUBLISH(&nodes[last].next, node);
    STORE(&tail, node);
    pthread_mutex_unlock(&putting);
}

/* Takes the first item. */
static uint32_t dequeue(void) {
    uint32_t value = NONE;
    pthread_mutex_lock(&taking);
    size_t first = LOAD(&head);
    size_t next = LOAD(&nodes[first].next);
    if (next != NIL) {
        value = LOAD(&nodes[next].value);
        STORE(&head, next);
    }
    pthread_mutex_unlock(&taking);
    return value;
}

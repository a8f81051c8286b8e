/* A work-stealing queue: see take_queue.rs. */

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

/* No item. */
#define NONE 0

/* Items are from `head` to below `tail`. */
static _Atomic uint32_t items[2];
static _Atomic ptrdiff_t head, tail;
static pthread_mutex_t stealing = PTHREAD_MUTEX_INITIALIZER;

/* For the owner. */
static void push(uint32_t item) {
    ptrdiff_t end = LOAD(&tail);
    assert(end >= 0 && end < 2);
    STORE(&items[end], item);
    PUBLISH(&tail, end + 1);
}

/* For the owner. */
static uint32_t pop(void) {
    ptrdiff_t last = LOAD(&tail) - 1;
    STORE(&tail, last);
    FENCE(memory_order_seq_cst);
    if (LOAD(&head) <= last)
        return LOAD(&items[last]);
    /* It is empty, or a thief is there. */
    pthread_mutex_lock(&stealing);
    uint32_t item = NONE;
    if (LOAD(&head) <= last)
        item = LOAD(&items[last]);
    else
        STORE(&tail, last + 1);
    pthread_mutex_unlock(&stealing);
    return item;
}

/* For thieves. */
static void *steal(void *unused) {
    (void)unused;
    pthread_mutex_lock(&stealing);
    uint32_t item = NONE;
    ptrdiff_t first = LOAD(&head);
    STORE(&head, first + 1);
    FENCE(memory_order_seq_cst);
    if (first < LOAD(&tail))
        item = LOAD(&items[first]);
    else
        STORE(&head, first);
    pthread_mutex_unlock(&stealing);
    return (void *)(uintptr_t)item;
}

/* The owner pushes two items and pops until there are none, while a thief steals one: six operations. Each item is taken
   once. */
int main(void) {
    push(1);
    pthread_t thief;
    pthread_create(&thief, NULL, steal, NULL);
    uint32_t taken[4];
    taken[0] = pop();
    push(2);
    taken[1] = pop();
    taken[2] = pop();
    void *stolen;
    pthread_join(thief, &stolen);
    taken[3] = (uint32_t)(uintptr_t)stolen;
    int times[3] = {0, 0, 0};
    for (int at = 0; at < 4; at++)
        times[taken[at]]++;
    assert(times[1] == 1 && times[2] == 1 && "each item is taken once");
    return 0;
}

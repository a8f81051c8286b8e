/* A ring buffer for one producer and one consumer. */

#ifndef RING_H
#define RING_H

#include <stdatomic.h>
#include <stdbool.h>

#define SLOTS 2

struct ring {
    atomic_uint head; /* written by the consumer */
    atomic_uint tail; /* written by the producer */
    int slots[SLOTS];
};

/* False if the ring is full. */
bool ring_push(struct ring *ring, int value);

/* False if the ring is empty. */
bool ring_pop(struct ring *ring, int *value);

#endif

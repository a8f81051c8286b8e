#include "ring.h"

bool ring_push(struct ring *ring, int value) {
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == SLOTS)
        return false;
    ring->slots[tail % SLOTS] = value;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

bool ring_pop(struct ring *ring, int *value) {
    unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
        return false;
    *value = ring->slots[head % SLOTS];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

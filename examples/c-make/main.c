/* What is pushed is popped, in the same order. */

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include "ring.h"

static struct ring ring;

static void *produce(void *unused) {
    for (int value = 1; value <= 3; value++)
        ring_push(&ring, value);
    return unused;
}

int main(void) {
    pthread_t producer;
    pthread_create(&producer, NULL, produce, NULL);
    int last = 0, value;
    for (int tries = 0; tries < 3; tries++) {
        if (ring_pop(&ring, &value)) {
            assert(value == last + 1);
            last = value;
        }
    }
    pthread_join(producer, NULL);
    return 0;
}

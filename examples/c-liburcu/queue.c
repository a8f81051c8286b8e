/* The wait-free queue of liburcu (Debian: liburcu-dev), with many producers and one consumer. What each producer puts in comes out
   once, and in its order. */

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include <urcu/wfcqueue.h>

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef ITEMS
#define ITEMS 2
#endif

struct item {
    struct cds_wfcq_node node;
    int producer, number;
};

static struct __cds_wfcq_head head;
static struct cds_wfcq_tail tail;
static struct item items[PRODUCERS][ITEMS];
static int next[PRODUCERS];
static int taken;

static void *produce(void *own) {
    struct item *item = own;
    for (int number = 0; number < ITEMS; number++, item++) {
        item->number = number;
        cds_wfcq_node_init(&item->node);
        cds_wfcq_enqueue(&head, &tail, &item->node);
    }
    return NULL;
}

/* Whether there was an item. One whose producer has not linked it yet is not there. */
static int take(void) {
    struct cds_wfcq_node *node = __cds_wfcq_dequeue_nonblocking(&head, &tail);
    if (node == NULL || node == CDS_WFCQ_WOULDBLOCK)
        return 0;
    struct item *item = caa_container_of(node, struct item, node);
    assert(item->number == next[item->producer]);
    next[item->producer]++;
    taken++;
    return 1;
}

int main(void) {
    pthread_t threads[PRODUCERS];
    __cds_wfcq_init(&head, &tail);
    for (int producer = 0; producer < PRODUCERS; producer++) {
        for (int number = 0; number < ITEMS; number++)
            items[producer][number].producer = producer;
        pthread_create(&threads[producer], NULL, produce, items[producer]);
    }
    take();
    for (int producer = 0; producer < PRODUCERS; producer++)
        pthread_join(threads[producer], NULL);
    while (take())
        ;
    assert(taken == PRODUCERS * ITEMS);
    return 0;
}

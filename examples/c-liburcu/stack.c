/* The lock-free stack of liburcu: one thread pushes, and two pop. Nodes that were popped are not used again, so that no grace period
   is needed. */

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include <urcu/lfstack.h>

#ifndef ITEMS
#define ITEMS 2
#endif

struct item {
    struct cds_lfs_node node;
    int times;
};

static struct __cds_lfs_stack stack;
static struct item items[ITEMS];

static void *pop(void *unused) {
    struct cds_lfs_node *node = __cds_lfs_pop(&stack);
    if (node != NULL)
        caa_container_of(node, struct item, node)->times++;
    return unused;
}

int main(void) {
    pthread_t first, second;
    __cds_lfs_init(&stack);
    pthread_create(&first, NULL, pop, NULL);
    pthread_create(&second, NULL, pop, NULL);
    for (int item = 0; item < ITEMS; item++) {
        cds_lfs_node_init(&items[item].node);
        cds_lfs_push(&stack, &items[item].node);
    }
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    for (int item = 0; item < ITEMS; item++)
        pop(NULL);
    for (int item = 0; item < ITEMS; item++)
        assert(items[item].times == 1);
    return 0;
}

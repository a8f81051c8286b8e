/* Harris's non-blocking set, a sorted list: see harris.rs. */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "version.h"

/* The nodes at both ends of the list. They have no keys. */
#define HEAD 0
#define TAIL 1
#define NODES 6

static struct {
    _Atomic uint32_t key;
    /* The number of a node, twice, and 1 if the node that has the link was removed. */
    atomic_size_t next;
} nodes[NODES];

static size_t link_to(size_t node, bool is_removed) {
    return 2 * node + is_removed;
}

static bool is_removed(size_t link) {
    return link % 2 == 1;
}

static size_t node_of(size_t link) {
    return link / 2;
}

static bool relink(size_t node, size_t expected, size_t new) {
    return atomic_compare_exchange_strong_explicit(&nodes[node].next, &expected, new, RELAXED, RELAXED);
}

static bool holds(size_t node, uint32_t key) {
    return node != TAIL && LOAD(&nodes[node].key) == key;
}

/* The last node with a lower key, and the node after it. Unlinks removed nodes between them. */
static void search(uint32_t key, size_t *left, size_t *right) {
    for (;;) {
        *left = HEAD;
        size_t after_left = LOAD(&nodes[HEAD].next);
        *right = node_of(after_left);
        while (*right != TAIL) {
            size_t next = LOAD(&nodes[*right].next);
            if (!is_removed(next)) {
                if (LOAD(&nodes[*right].key) >= key)
                    break;
                *left = *right;
                after_left = next;
            }
            *right = node_of(next);
        }
        bool is_linked = node_of(after_left) == *right;
        if (!is_linked && !relink(*left, after_left, link_to(*right, false)))
            continue;
        if (*right == TAIL || !is_removed(LOAD(&nodes[*right].next)))
            return;
    }
}

/* Adds a key, in a node that was not used before. False if it is there. */
static bool insert(size_t node, uint32_t key) {
    STORE(&nodes[node].key, key);
    for (;;) {
        size_t left, right;
        search(key, &left, &right);
        if (holds(right, key))
            return false;
        STORE(&nodes[node].next, link_to(right, false));
        FENCE(memory_order_release);
        if (relink(left, link_to(right, false), link_to(node, false)))
            return true;
    }
}

/* Takes a key away. False if it is not there. */
static bool remove_key(uint32_t key) {
    for (;;) {
        size_t left, right;
        search(key, &left, &right);
        if (!holds(right, key))
            return false;
        size_t next = LOAD(&nodes[right].next);
        if (is_removed(next) || !relink(right, next, link_to(node_of(next), true)))
            continue;
        if (!relink(left, link_to(right, false), next))
            search(key, &left, &right);
        return true;
    }
}

static bool contains(uint32_t key) {
    size_t left, right;
    search(key, &left, &right);
    return holds(right, key);
}

static struct {
    bool added, removed;
} results[NODES];

static void *add_and_remove(void *number) {
    size_t node = (size_t)(uintptr_t)number;
    results[node].added = insert(node, 10);
    results[node].removed = remove_key(20);
    return NULL;
}

/* Three threads all add one key and remove another. Each key is added or removed by one of them. */
int main(void) {
    for (size_t node = 0; node < NODES; node++)
        atomic_init(&nodes[node].next, link_to(TAIL, false));
    insert(2, 20);
    pthread_t threads[NODES];
    for (uintptr_t node = 3; node < NODES; node++)
        pthread_create(&threads[node], NULL, add_and_remove, (void *)node);
    int added = 0, removed = 0;
    for (size_t node = 3; node < NODES; node++) {
        pthread_join(threads[node], NULL);
        added += results[node].added;
        removed += results[node].removed;
    }
    assert(added == 1 && "the key 10 is added once");
    assert(removed == 1 && "the key 20 is removed once");
    assert(contains(10) && !contains(20));
    return 0;
}

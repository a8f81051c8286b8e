/* The lazy list, a set whose `contains` takes no lock: see lazylist.rs. */

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
    atomic_size_t next;
    atomic_bool is_removed;
    pthread_mutex_t lock;
} nodes[NODES];

static bool holds(size_t node, uint32_t key) {
    return node != TAIL && LOAD(&nodes[node].key) == key;
}

/* The last node with a lower key, and the node after it. Takes no lock. */
static void search(uint32_t key, size_t *left, size_t *right) {
    *left = HEAD;
    *right = LOAD(&nodes[HEAD].next);
    while (*right != TAIL && LOAD(&nodes[*right].key) < key) {
        *left = *right;
        *right = LOAD(&nodes[*left].next);
    }
}

static void unlock_both(size_t left, size_t right) {
    pthread_mutex_unlock(&nodes[left].lock);
    pthread_mutex_unlock(&nodes[right].lock);
}

/* The nodes around a key, locked. */
static void lock_around(uint32_t key, size_t *left, size_t *right) {
    for (;;) {
        search(key, left, right);
        pthread_mutex_lock(&nodes[*left].lock);
        pthread_mutex_lock(&nodes[*right].lock);
        if (!LOAD(&nodes[*left].is_removed) && !LOAD(&nodes[*right].is_removed) &&
            LOAD(&nodes[*left].next) == *right)
            return;
        unlock_both(*left, *right);
    }
}

/* Adds a key, in a node that was not used before. False if it is there. */
static bool insert(size_t node, uint32_t key) {
    size_t left, right;
    lock_around(key, &left, &right);
    bool is_new = !holds(right, key);
    if (is_new) {
        STORE(&nodes[node].key, key);
        STORE(&nodes[node].is_removed, false);
        STORE(&nodes[node].next, right);
        PUBLISH(&nodes[left].next, node);
    }
    unlock_both(left, right);
    return is_new;
}

/* Takes a key away. False if it is not there. */
static bool remove_key(uint32_t key) {
    size_t left, right;
    lock_around(key, &left, &right);
    bool is_there = holds(right, key);
    if (is_there) {
        STORE(&nodes[right].is_removed, true);
        size_t next = LOAD(&nodes[right].next);
        STORE(&nodes[left].next, next);
    }
    unlock_both(left, right);
    return is_there;
}

static bool contains(uint32_t key) {
    size_t left, right;
    search(key, &left, &right);
    return holds(right, key) && !LOAD(&nodes[right].is_removed);
}

static struct {
    bool added, removed, found;
} results[NODES];

static void *use(void *number) {
    size_t node = (size_t)(uintptr_t)number;
    results[node].added = insert(node, 10);
    results[node].removed = remove_key(20);
    results[node].found = contains(10);
    return NULL;
}

/* Three threads all add one key, remove another, and look for the first. Each key is added or removed by one of them, and all of
   them find the first. */
int main(void) {
    for (size_t node = 0; node < NODES; node++) {
        atomic_init(&nodes[node].next, TAIL);
        pthread_mutex_init(&nodes[node].lock, NULL);
    }
    insert(2, 20);
    pthread_t threads[NODES];
    for (uintptr_t node = 3; node < NODES; node++)
        pthread_create(&threads[node], NULL, use, (void *)node);
    int added = 0, removed = 0, found = 0;
    for (size_t node = 3; node < NODES; node++) {
        pthread_join(threads[node], NULL);
        added += results[node].added;
        removed += results[node].removed;
        found += results[node].found;
    }
    assert(added == 1 && "the key 10 is added once");
    assert(removed == 1 && "the key 20 is removed once");
    assert(found == 3 && "the key 10 stays");
    return 0;
}

/* A sequence lock, as in many programs: a writer makes the sequence odd, writes, and makes it even again; readers try until they
   have seen the same even number before and after. The data are atomic variables that are accessed with relaxed order, since
   readers may look at them while they are written.

   With -DWITHOUT_FENCE the reader looks at the sequence again without a fence: on x86 that is right, and for PSO too, since
   neither reorders loads. With -DWITHOUT_RELEASE the writer has no release fence after it has made the sequence odd: right on
   x86, where stores are not reordered, and wrong under PSO. */

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct seqlock {
    atomic_uint sequence;
    atomic_int x, y;
};

static struct seqlock shared;

static void write_both(struct seqlock *lock, int value) {
    unsigned sequence = atomic_load_explicit(&lock->sequence, memory_order_relaxed);
    atomic_store_explicit(&lock->sequence, sequence + 1, memory_order_relaxed);
#ifndef WITHOUT_RELEASE
    atomic_thread_fence(memory_order_release);
#endif
    atomic_store_explicit(&lock->x, value, memory_order_relaxed);
    atomic_store_explicit(&lock->y, value, memory_order_relaxed);
    atomic_store_explicit(&lock->sequence, sequence + 2, memory_order_release);
}

static void read_both(struct seqlock *lock, int *x, int *y) {
    for (;;) {
        unsigned before = atomic_load_explicit(&lock->sequence, memory_order_acquire);
        if (before & 1)
            continue;
        *x = atomic_load_explicit(&lock->x, memory_order_relaxed);
        *y = atomic_load_explicit(&lock->y, memory_order_relaxed);
#ifndef WITHOUT_FENCE
        atomic_thread_fence(memory_order_acquire);
#endif
        if (atomic_load_explicit(&lock->sequence, memory_order_relaxed) == before)
            return;
    }
}

static void *writer(void *unused) {
    write_both(&shared, 1);
    write_both(&shared, 2);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    int x, y;
    read_both(&shared, &x, &y);
    assert(x == y);
    pthread_join(thread, NULL);
    return 0;
}

/* The programs of benches/peers in C, chosen by -DFAMILY and -DSIZE. The first thread only starts the others and joins them. */

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define SB 1
#define SB_SEQCST 2
#define COUNTER 3
#define READERS 4
#define LASTZERO 5

#if FAMILY == READERS || FAMILY == LASTZERO
#define THREADS (SIZE + 1)
#else
#define THREADS SIZE
#endif

static atomic_size_t cells[THREADS];
static size_t numbers[THREADS];

static void *run(void *argument) {
    size_t index = *(size_t *)argument;
#if FAMILY == SB
    atomic_store_explicit(&cells[index], 1, memory_order_release);
    (void)atomic_load_explicit(&cells[(index + 1) % SIZE], memory_order_acquire);
#elif FAMILY == SB_SEQCST
    atomic_store(&cells[index], 1);
    (void)atomic_load(&cells[(index + 1) % SIZE]);
#elif FAMILY == COUNTER
    for (int addition = 0; addition < 2; addition++)
        atomic_fetch_add_explicit(&cells[0], 1, memory_order_relaxed);
    (void)index;
#elif FAMILY == READERS
    if (index == 0)
        atomic_store_explicit(&cells[0], 1, memory_order_release);
    else
        (void)atomic_load_explicit(&cells[0], memory_order_acquire);
#elif FAMILY == LASTZERO
    if (index == 0) {
        size_t last = SIZE;
        while (atomic_load_explicit(&cells[last], memory_order_acquire) != 0)
            last--;
    } else {
        size_t left = atomic_load_explicit(&cells[index - 1], memory_order_acquire);
        atomic_store_explicit(&cells[index], left + 1, memory_order_release);
    }
#else
#error "FAMILY and SIZE have to be defined"
#endif
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (size_t index = 0; index < THREADS; index++) {
        numbers[index] = index;
        pthread_create(&threads[index], NULL, run, &numbers[index]);
    }
    for (size_t index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    return 0;
}

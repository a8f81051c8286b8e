/* A consumer that sleeps while there is no work: see idle_consumer.rs. */

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#include "version.h"

static atomic_bool is_idling, has_work;
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t alarm_clock = PTHREAD_COND_INITIALIZER;

/* For the consumer: returns when there is work. */
static void *block_on_idle(void *unused) {
    (void)unused;
    pthread_mutex_lock(&bed);
    STORE(&is_idling, true);
    FENCE(memory_order_seq_cst);
    /* The paper has `if`, which a wake-up for no reason would break. */
    while (!LOAD(&has_work))
        pthread_cond_wait(&alarm_clock, &bed);
    STORE(&is_idling, false);
    pthread_mutex_unlock(&bed);
    return NULL;
}

/* For the producer. */
static void *notify_potential_work(void *unused) {
    (void)unused;
    STORE(&has_work, true);
    FENCE(memory_order_seq_cst);
    if (LOAD(&is_idling)) {
        pthread_mutex_lock(&bed);
        pthread_cond_signal(&alarm_clock);
        pthread_mutex_unlock(&bed);
    }
    return NULL;
}

/* One consumer, one producer. The consumer wakes: if it did not, that would be a deadlock. */
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, block_on_idle, NULL);
    pthread_create(&threads[1], NULL, notify_potential_work, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(!LOAD(&is_idling) && "the consumer is awake");
    return 0;
}

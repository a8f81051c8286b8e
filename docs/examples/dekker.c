/* Two threads that each want to enter alone: a lock in the style of Dekker, without fences.
   Every access to the flags is logged, so that `fencepost monitor` can read the run. */

#include <pthread.h>
#include <stdio.h>

/* Held while an access happens and is logged: the log has the order of the accesses. */
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void logged_store(int thread, const char *name, volatile int *variable, int value,
                         int line) {
    pthread_mutex_lock(&log_lock);
    *variable = value;
    printf("T%d st %s =%d @%s:%d\n", thread, name, value, __FILE__, line);
    pthread_mutex_unlock(&log_lock);
}

static int logged_load(int thread, const char *name, volatile int *variable, int line) {
    pthread_mutex_lock(&log_lock);
    int value = *variable;
    printf("T%d ld %s =%d @%s:%d\n", thread, name, value, __FILE__, line);
    pthread_mutex_unlock(&log_lock);
    return value;
}

#define STORE(thread, variable, value) \
    logged_store(thread, #variable, &variable, value, __LINE__)
#define LOAD(thread, variable) logged_load(thread, #variable, &variable, __LINE__)

static volatile int flag0, flag1;

static void *first(void *unused) {
    STORE(0, flag0, 1);
    if (LOAD(0, flag1) == 0) { /* Alone in here? */ }
    return unused;
}

static void *second(void *unused) {
    STORE(1, flag1, 1);
    if (LOAD(1, flag0) == 0) { /* Alone in here? */ }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}

/* Random programs: what their threads have seen is added to a file, once for each execution that ends. The functions here are not
   instrumented, so that a check sees nothing of it. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_sanitize("thread"), noinline, unused))

enum { THREADS = 4, RESULTS = 31, MOST = 4000 };

/* The number of results of each thread, and then these. */
struct outcome {
    volatile unsigned char of[THREADS][1 + RESULTS];
};

struct outcomes {
    volatile unsigned count;
    struct outcome all[MOST];
};

static struct outcome own;
static struct outcomes *outcomes;

UNSEEN static void note(int thread, unsigned long long result)
{
    unsigned at = ++own.of[thread][0];
    if (at > RESULTS || result > 255)
        _exit(90);
    own.of[thread][at] = (unsigned char)result;
}

/* How many results a thread has. */
UNSEEN static int noted(int thread)
{
    return own.of[thread][0];
}

UNSEEN static int is_own(const struct outcome *other)
{
    for (int thread = 0; thread < THREADS; thread++)
        for (int at = 0; at <= RESULTS; at++)
            if (other->of[thread][at] != own.of[thread][at])
                return 0;
    return 1;
}

UNSEEN static void end_execution(void)
{
    if (!outcomes)
        return;
    for (unsigned number = 0; number < outcomes->count; number++)
        if (is_own(&outcomes->all[number]))
            return;
    if (outcomes->count == MOST)
        _exit(91);
    for (int thread = 0; thread < THREADS; thread++)
        for (int at = 0; at <= RESULTS; at++)
            outcomes->all[outcomes->count].of[thread][at] = own.of[thread][at];
    outcomes->count++;
}

/* Before `main`, and so before the check. */
UNSEEN __attribute__((constructor)) static void map_outcomes(void)
{
    const char *path = getenv("OUTCOMES");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(0, sizeof(struct outcomes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED)
        _exit(92);
    close(file);
    outcomes = mapped;
}

/* The compiler keeps a read whose value goes here. */
#define USE(value) __asm__ volatile("" : : "g"(value))
#define USE_AT(address) __asm__ volatile("" : : "r"(address) : "memory")

static const struct timespec LATER = { .tv_sec = 4000000000 };

struct block {
    uint64_t first;
    uint32_t rest[3];
};

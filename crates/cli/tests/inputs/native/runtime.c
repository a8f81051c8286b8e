/* A runtime for tests: it prints what it was started with instead of running a check, and ends as FENCEPOST_TEST_END says. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOOK(name) void name(void *address) { (void)address; }
#define SIZES(name) HOOK(name##1) HOOK(name##2) HOOK(name##4) HOOK(name##8) HOOK(name##16)
SIZES(__tsan_read) SIZES(__tsan_write) SIZES(__tsan_read_write)
SIZES(__tsan_volatile_read) SIZES(__tsan_volatile_write)
SIZES(__tsan_unaligned_read) SIZES(__tsan_unaligned_write)
HOOK(__tsan_func_entry) HOOK(__tsan_vptr_read)
void __tsan_vptr_update(void *address, void *value) { (void)address; (void)value; }
void __tsan_func_exit(void) {}
void __tsan_init(void) {}
void __tsan_read_range(void *address, size_t size) { (void)address; (void)size; }
void __tsan_write_range(void *address, size_t size) { (void)address; (void)size; }
void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }
static volatile sig_atomic_t interrupts;
static void count(int signal) { (void)signal; interrupts++; }

/* The exit code of a check, which its parent tells from that of a program. */
static void finish(int code) { _exit(getenv("FENCEPOST_WATCHED") ? 160 + code : code); }

static void report(int argc, char **argv, char **environment) {
    printf("report=%s\n", getenv("FENCEPOST_NATIVE"));
    for (int i = 0; i < argc; i++) printf("argument=%s\n", argv[i]);
    for (; *environment; environment++)
        if (!strncmp(*environment, "FENCEPOST_", 10) || !strncmp(*environment, "LD_BIND_NOW", 11)
            || !strncmp(*environment, "NO_COLOR", 8) || !strncmp(*environment, "CLICOLOR_FORCE", 14))
            printf("%s\n", *environment);
    printf("stack=%p\n", (void *)__builtin_frame_address(0));
    fflush(stdout);
}

/* glibc passes a constructor what main gets. */
__attribute__((constructor)) static void start(int argc, char **argv, char **environment) {
    if (!getenv("FENCEPOST_NATIVE")) return;
    signal(SIGINT, count);
    report(argc, argv, environment);
    const char *end = getenv("FENCEPOST_TEST_END");
    if (!end) finish(0);
    if (!strncmp(end, "check ", 6)) finish(atoi(end + 6));
    if (!strncmp(end, "exit ", 5)) _exit(atoi(end + 5));
    if (!strncmp(end, "signal ", 7)) {
        signal(atoi(end + 7), SIG_DFL);
        raise(atoi(end + 7));
    }
    if (!strcmp(end, "interrupt")) {
        while (!interrupts) usleep(1000);
        /* A second one would come at about the same time. */
        usleep(300000);
        printf("interrupts=%d\n", (int)interrupts);
        fflush(stdout);
        finish(3);
    }
    _exit(99);
}
#define ATOMIC(bits) \
    typedef uint##bits##_t u##bits; \
    u##bits __tsan_atomic##bits##_load(u##bits *at, int order) { (void)order; return __atomic_load_n(at, 5); } \
    void __tsan_atomic##bits##_store(u##bits *at, u##bits v, int order) { (void)order; __atomic_store_n(at, v, 5); } \
    u##bits __tsan_atomic##bits##_exchange(u##bits *at, u##bits v, int order) { (void)order; return __atomic_exchange_n(at, v, 5); } \
    u##bits __tsan_atomic##bits##_fetch_add(u##bits *at, u##bits v, int order) { (void)order; return __atomic_fetch_add(at, v, 5); } \
    u##bits __tsan_atomic##bits##_fetch_sub(u##bits *at, u##bits v, int order) { (void)order; return __atomic_fetch_sub(at, v, 5); }
ATOMIC(8) ATOMIC(16) ATOMIC(32) ATOMIC(64)

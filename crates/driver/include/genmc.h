/* What programs written for GenMC (https://github.com/MPI-SWS/genmc) include, for a check by Fencepost. Hints to GenMC's search
   mean nothing here. Hazard pointers, persistent memory and the functions of the Linux kernel are not there. */
#ifndef FENCEPOST_GENMC_H
#define FENCEPOST_GENMC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Executions in which the condition does not hold end here, and are no failures. */
void __VERIFIER_assume(int condition);
/* The program has failed. */
void __VERIFIER_error(void);
/* A number that the program leaves open. */
int __VERIFIER_nondet_int(void);
unsigned int __VERIFIER_nondet_uint(void);
bool __VERIFIER_nondet_bool(void);
/* What is done between these is done at once. */
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
int __VERIFIER_opt_begin(void);

/* Hints. */
void __VERIFIER_loop_begin(void);
void __VERIFIER_spin_start(void);
void __VERIFIER_spin_end(int is_over);
void __VERIFIER_method_begin(const char *name, int32_t argument);
void __VERIFIER_method_end(const char *name, int32_t result);

/* Threads. */
typedef pthread_t __VERIFIER_thread_t;

static inline __VERIFIER_thread_t __VERIFIER_spawn(void *(*start)(void *), void *argument)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, start, argument) != 0)
		__VERIFIER_error();
	return thread;
}

/* The other thread runs the same code. GenMC leaves out symmetric executions; here all are run. */
static inline __VERIFIER_thread_t __VERIFIER_spawn_symmetric(
	void *(*start)(void *), void *argument, __VERIFIER_thread_t other)
{
	(void)other;
	return __VERIFIER_spawn(start, argument);
}

static inline void *__VERIFIER_join(__VERIFIER_thread_t thread)
{
	void *result = NULL;
	pthread_join(thread, &result);
	return result;
}

static inline void __VERIFIER_join_symmetric(__VERIFIER_thread_t thread)
{
	__VERIFIER_join(thread);
}

/* A lock of which only a part of the operations is seen by others. Here it is a lock. */
typedef pthread_mutex_t __VERIFIER_plock_t;

static inline int __VERIFIER_plock_lock(__VERIFIER_plock_t *lock)
{
	return pthread_mutex_lock(lock);
}

static inline int __VERIFIER_plock_unlock(__VERIFIER_plock_t *lock)
{
	return pthread_mutex_unlock(lock);
}

#ifdef __cplusplus
}
#endif

/* What follows is there for the sake of the search. */
#define __VERIFIER_local_write(statement) do { statement; } while (0)
#define __VERIFIER_final_write(statement) do { statement; } while (0)
#define __VERIFIER_helped_CAS(statement) do { statement; } while (0)
#define __VERIFIER_helping_CAS(statement) do { statement; } while (0)
#define __VERIFIER_speculative_read(expression) (expression)
#define __VERIFIER_confirming_read(expression) (expression)
#define __VERIFIER_confirming_CAS(expression) (expression)
#define __VERIFIER_final_CAS(expression) (expression)
/* What is left out where only failures are looked for. Here it is executed. */
#define __VERIFIER_optional(statement) do { statement; } while (0)

#endif

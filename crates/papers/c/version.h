/* The two versions of each program: the paper's, in which every access is relaxed, and with -DFIXED the one with the fences and
   orderings that make it safe. */
#ifndef VERSION_H
#define VERSION_H

#include <stdatomic.h>

#ifdef FIXED
#define FENCE(order) atomic_thread_fence(order)
#define RELEASE memory_order_release
#else
#define FENCE(order) ((void)0)
#define RELEASE memory_order_relaxed
#endif

#define RELAXED memory_order_relaxed
#define LOAD(place) atomic_load_explicit((place), RELAXED)
#define STORE(place, value) atomic_store_explicit((place), (value), RELAXED)
/* By which others may see what was stored before. */
#define PUBLISH(place, value) atomic_store_explicit((place), (value), RELEASE)

#endif

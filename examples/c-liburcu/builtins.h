/* liburcu's atomic operations with the compiler's builtins in place of its inline assembly, as later versions of it have with
   --enable-compiler-atomic-builtins. It is included before everything else (-include builtins.h), and the library's queues and
   stacks are compiled with the program as they are. */
#ifndef BUILTINS_H
#define BUILTINS_H

#include <urcu/arch.h>
#include <urcu/compiler.h>
#include <urcu/system.h>

/* Instead of <urcu/uatomic.h>. With -DRELAXED, exchanges order nothing, as they must not. */
#define _URCU_UATOMIC_H

#ifdef RELAXED
#define EXCHANGE __ATOMIC_RELAXED
#else
#define EXCHANGE __ATOMIC_SEQ_CST
#endif

#define uatomic_read(address) __atomic_load_n(address, __ATOMIC_RELAXED)
#define uatomic_set(address, value) __atomic_store_n(address, value, __ATOMIC_RELAXED)
#define uatomic_xchg(address, value) __atomic_exchange_n(address, value, EXCHANGE)
#define uatomic_cmpxchg(address, expected, value) \
    __extension__({ \
        __typeof__(*(address)) found_ = (expected); \
        __atomic_compare_exchange_n(address, &found_, value, 0, EXCHANGE, __ATOMIC_RELAXED); \
        found_; \
    })
#define uatomic_inc(address) ((void)__atomic_fetch_add(address, 1, __ATOMIC_SEQ_CST))
#define uatomic_dec(address) ((void)__atomic_fetch_sub(address, 1, __ATOMIC_SEQ_CST))
#define cmm_smp_mb__before_uatomic_or()

#undef cmm_mb
#undef cmm_rmb
#undef cmm_wmb
#undef cmm_smp_mb
#undef cmm_smp_rmb
#undef cmm_smp_wmb
#define cmm_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define cmm_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define cmm_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define cmm_smp_mb() cmm_mb()
#define cmm_smp_rmb() cmm_rmb()
#define cmm_smp_wmb() cmm_wmb()

/* On x86, what a volatile access is. */
#undef CMM_LOAD_SHARED
#undef CMM_STORE_SHARED
#undef _CMM_LOAD_SHARED
#undef _CMM_STORE_SHARED
#define CMM_LOAD_SHARED(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
#define CMM_STORE_SHARED(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELEASE)
#define _CMM_LOAD_SHARED(place) CMM_LOAD_SHARED(place)
#define _CMM_STORE_SHARED(place, value) CMM_STORE_SHARED(place, value)

#endif

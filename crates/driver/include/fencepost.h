/* What a C or C++ program can ask of a check beyond what C has. */
#ifndef FENCEPOST_H
#define FENCEPOST_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What one variable is expected to have, and gets. The variable is an atomic one of 64 bits. */
struct fencepost_change {
	void *variable;
	uint64_t expected;
	uint64_t new_value;
};

/* Changes two different variables at once if both are as expected, and returns whether they were. It orders no more than two
   relaxed compare-exchanges do. No processor has it: it is there to check algorithms that are written with one. */
int fencepost_double_compare_exchange(const struct fencepost_change changes[2]);

#ifdef __cplusplus
}
#endif

#endif

// verified
#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    struct timespec first, second;
    clock_gettime(CLOCK_MONOTONIC, &first);
    clock_gettime(CLOCK_MONOTONIC, &second);
    assert(first.tv_sec == 0 && first.tv_nsec == 1000000 && second.tv_nsec == 2000000);
    assert(time(0) == 1700000000);
    srand(1);
    int one = rand();
    srand(1);
    assert(rand() == one && rand() != one);
    unsigned a = 0, b = 0;
    assert(getrandom(&a, sizeof a, 0) == sizeof a && getrandom(&b, sizeof b, 0) == sizeof b && a != b);
    usleep(1000000);
    sleep(100);
    return 0;
}

/* The outcome of a program: its exit status, or 99 if it is the one that the program is asked about. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int asked = -1;
static unsigned delays;

static void begin(int count, char **arguments)
{
    if (count > 1 && !strncmp(arguments[1], "is:", 3))
        asked = atoi(arguments[1] + 3);
    if (count > 1 && !strncmp(arguments[1], "delay:", 6))
        delays = atoi(arguments[1] + 6) * 2654435761u | 1;
}

/* Waits for a while, outside of a check. */
static void delay(unsigned place)
{
    if (delays) {
        unsigned number = (delays ^ place * 40503u) * 2246822519u;
        if (number & 0x10000)
            usleep(number >> 25);
    }
}

static int end(int outcome)
{
    if (asked >= 0)
        return outcome == asked ? 99 : 0;
    return outcome;
}

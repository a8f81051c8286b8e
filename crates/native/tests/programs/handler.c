// refused: `signal` cannot be checked
#include <signal.h>
static void handle(int number) { (void)number; }
int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, handle);
    return 0;
}

// refused: `fork` cannot be checked
#include <unistd.h>
int main(void)
{
    return fork() < 0;
}

// verified
#include <cassert>
#include <pthread.h>
static int destroyed;
struct Scope {
    ~Scope() { destroyed++; }
};
static void *work(void *)
{
    Scope scope;
    pthread_exit(&destroyed);
}
int main()
{
    pthread_t thread;
    void *result = nullptr;
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_join(thread, &result);
    assert(result == &destroyed && destroyed == 1);
}

/* The use of the two queues of Michael and Scott: one thread puts in two items, one puts in one, and one tries to take two. Each
   item comes out once, and the two in their order. */

/* No item. */
#define NONE 0

static void enqueue(size_t node, uint32_t value);
static uint32_t dequeue(void);

static uint32_t taken_by_thread[2];

static void *put_two(void *unused) {
    (void)unused;
    enqueue(2, 10);
    enqueue(3, 20);
    return NULL;
}

static void *put_one(void *unused) {
    (void)unused;
    enqueue(4, 30);
    return NULL;
}

static void *take(void *unused) {
    (void)unused;
    taken_by_thread[0] = dequeue();
    taken_by_thread[1] = dequeue();
    return NULL;
}

static void check(uint32_t item, int *count, uint32_t *last) {
    *count += 1;
    if (item != 30) {
        assert(item > *last && "first in, first out");
        *last = item;
    }
}

int main(void) {
    void *(*const bodies[3])(void *) = {put_two, put_one, take};
    pthread_t threads[3];
    for (int number = 0; number < 3; number++)
        pthread_create(&threads[number], NULL, bodies[number], NULL);
    for (int number = 0; number < 3; number++)
        pthread_join(threads[number], NULL);
    int count = 0;
    uint32_t last = 0, item;
    for (int at = 0; at < 2; at++)
        if (taken_by_thread[at] != NONE)
            check(taken_by_thread[at], &count, &last);
    while ((item = dequeue()) != NONE)
        check(item, &count, &last);
    assert(count == 3 && "each item comes out once");
    return 0;
}

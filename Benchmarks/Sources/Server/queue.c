#include "queue.h"

#include <stdlib.h>

static struct waiter *at(struct queue *queue, size_t offset) {
    return &queue->waiters[(queue->first + offset) % queue->capacity];
}

static bool grow(struct queue *queue) {
    size_t capacity = queue->capacity ? queue->capacity * 2 : 1024;
    struct waiter *waiters = malloc(capacity * sizeof *waiters);
    if (!waiters) return false;
    for (size_t offset = 0; offset < queue->count; offset++) waiters[offset] = *at(queue, offset);
    free(queue->waiters);
    queue->waiters = waiters;
    queue->capacity = capacity;
    queue->first = 0;
    return true;
}

bool queue_append(struct queue *queue, struct waiter waiter) {
    if (queue->count == queue->capacity && !grow(queue)) return false;
    queue->count++;
    *at(queue, queue->count - 1) = waiter;
    return true;
}

struct waiter *queue_first(struct queue *queue) { return queue->count ? at(queue, 0) : NULL; }

void queue_remove_first(struct queue *queue) {
    queue->first = (queue->first + 1) % queue->capacity;
    queue->count--;
}

void queue_drop(struct queue *queue, const struct connection *connection) {
    for (size_t offset = 0; offset < queue->count; offset++)
        if (at(queue, offset)->connection == connection) at(queue, offset)->connection = NULL;
}

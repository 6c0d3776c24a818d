// Connections in the order in which they are to be answered. All wait for equally long, so that a ring will do.
#ifndef QUEUE_H
#define QUEUE_H

#include "connection.h"

#include <stdbool.h>

struct waiter {
    struct connection *connection;
    // When to answer, in milliseconds.
    long long due;
};

struct queue {
    struct waiter *waiters;
    size_t capacity;
    size_t first;
    size_t count;
};

bool queue_append(struct queue *queue, struct waiter waiter);

// The connection that has waited for longest; its `connection` is NULL if it has been dropped.
struct waiter *queue_first(struct queue *queue);

void queue_remove_first(struct queue *queue);

// Forgets a connection that was closed while it waited.
void queue_drop(struct queue *queue, const struct connection *connection);

#endif

// A server for what nginx does not do: it answers a request without a body after so many milliseconds, and one with a
// body, which it drops, as soon as the body has come. It sends the messages of WebSockets back. It writes its port on
// standard output and ends when standard input, a pipe, is closed, so that it never outlives whoever started it.
#define _GNU_SOURCE

#include "connection.h"
#include "queue.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct server {
    int epoll;
    int listener;
    long long delay;
    struct queue queue;
};

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int watch(const struct server *server, int descriptor, void *context) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = context};
    return epoll_ctl(server->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static int listen_anywhere(struct server *server) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, size) != 0) return -1;
    if (listen(server->listener, 16384) != 0) return -1;
    if (getsockname(server->listener, (struct sockaddr *)&address, &size) != 0) return -1;
    return ntohs(address.sin_port);
}

static void accept_all(struct server *server) {
    for (;;) {
        int socket = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) return;
        struct connection *connection = connection_open(socket);
        if (!connection) {
            close(socket);
        } else if (watch(server, socket, connection) != 0) {
            connection_close(connection);
        }
    }
}

static void drop(struct server *server, struct connection *connection) {
    if (connection->state == waiting) queue_drop(&server->queue, connection);
    connection_close(connection);
}

static void serve(struct server *server, struct connection *connection) {
    enum outcome outcome = connection_read(connection);
    if (outcome == outcome_ask) {
        struct waiter waiter = {.connection = connection, .due = now() + server->delay};
        outcome = queue_append(&server->queue, waiter) ? outcome_open : outcome_closed;
    } else if (outcome == outcome_answer) {
        outcome = connection_answer(connection);
    }
    if (outcome == outcome_closed) drop(server, connection);
}

// Answers whoever has waited for long enough. Returns for how long epoll may wait.
static int answer_due(struct server *server) {
    struct waiter *waiter;
    while ((waiter = queue_first(&server->queue))) {
        long long left = waiter->due - now();
        if (left > 0) return (int)left;
        struct connection *connection = waiter->connection;
        queue_remove_first(&server->queue);
        if (connection && connection_answer(connection) == outcome_closed) drop(server, connection);
    }
    return -1;
}

static int run(struct server *server) {
    struct epoll_event events[512];
    for (;;) {
        int count = epoll_wait(server->epoll, events, sizeof events / sizeof events[0], answer_due(server));
        for (int index = 0; index < count; index++) {
            if (events[index].data.ptr == NULL) return 0;
            if (events[index].data.ptr == server) accept_all(server);
            else serve(server, events[index].data.ptr);
        }
    }
}

int main(int count, char **arguments) {
    struct server server = {.delay = count > 1 ? atoll(arguments[1]) : 0};
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    int port = listen_anywhere(&server);
    if (port < 0 || watch(&server, server.listener, &server) != 0 || watch(&server, STDIN_FILENO, NULL) != 0) {
        perror("bench-server");
        return 1;
    }
    printf("%d\n", port);
    fflush(stdout);
    return run(&server);
}

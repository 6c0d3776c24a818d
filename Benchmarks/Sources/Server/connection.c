#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
static const char leave[] = "HTTP/1.1 100 Continue\r\n\r\n";

struct connection *connection_open(int socket) {
    struct connection *connection = malloc(sizeof *connection);
    if (!connection) return NULL;
    connection->socket = socket;
    connection->state = reading_head;
    connection->echo = (struct echo){0};
    request_reset(&connection->request);
    return connection;
}

static bool say(const struct connection *connection, const char *text) {
    size_t size = strlen(text);
    return send(connection->socket, text, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static enum outcome after_read(ssize_t count) {
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? outcome_open : outcome_closed;
}

static enum outcome end_request(struct connection *connection) {
    connection->state = waiting;
    return connection->request.has_body ? outcome_answer : outcome_ask;
}

static enum outcome read_head(struct connection *connection) {
    struct request *request = &connection->request;
    size_t room = sizeof request->head - 1 - request->head_size;
    ssize_t count = recv(connection->socket, request->head + request->head_size, room, 0);
    if (count <= 0) return after_read(count);
    request->head_size += (size_t)count;
    switch (request_parse(request)) {
    case progress_more: return outcome_open;
    case progress_failed: return outcome_closed;
    case progress_head: break;
    }
    if (request->asks_for_websocket) {
        connection->state = echoing;
        return echo_accept(connection->socket, request->head) ? outcome_open : outcome_closed;
    }
    if (request->body_left == 0) return end_request(connection);
    if (request->expects_continue && !say(connection, leave)) return outcome_closed;
    connection->state = reading_body;
    return outcome_open;
}

// Drops bytes inside the kernel, so that the server takes as little of the processor from the client as may be.
static enum outcome read_body(struct connection *connection) {
    struct request *request = &connection->request;
    size_t most = request->body_left < 4 << 20 ? (size_t)request->body_left : 4 << 20;
    ssize_t count = recv(connection->socket, NULL, most, MSG_TRUNC);
    if (count <= 0) return after_read(count);
    request->body_left -= count;
    return request->body_left == 0 ? end_request(connection) : outcome_open;
}

enum outcome connection_read(struct connection *connection) {
    switch (connection->state) {
    case reading_head: return read_head(connection);
    case reading_body: return read_body(connection);
    case echoing: return echo_read(&connection->echo, connection->socket) ? outcome_open : outcome_closed;
    case waiting: break;
    }
    // A client that is waiting has nothing to say: this is its end.
    return outcome_closed;
}

enum outcome connection_answer(struct connection *connection) {
    request_reset(&connection->request);
    connection->state = reading_head;
    return say(connection, answer) ? outcome_open : outcome_closed;
}

void connection_close(struct connection *connection) {
    close(connection->socket);
    echo_free(&connection->echo);
    free(connection);
}

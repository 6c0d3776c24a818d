// WebSockets (RFC 6455) whose frames are sent back: text and binary frames as they are, pings as pongs. A close frame is
// sent back before the connection ends.
#ifndef ECHO_H
#define ECHO_H

#include <stdbool.h>
#include <stddef.h>

// The beginning of a frame whose end has not been received; empty between two frames.
struct echo {
    unsigned char *rest;
    size_t rest_size;
};

// Accepts the WebSocket that the head of a request asks for.
bool echo_accept(int socket, const char *head);

// Reads the available bytes and sends complete frames back. Returns false at the end of the connection.
bool echo_read(struct echo *echo, int socket);

void echo_free(struct echo *echo);

#endif

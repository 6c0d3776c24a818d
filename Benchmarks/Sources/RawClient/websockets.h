// WebSockets over connections that libcurl opens and does not use (CURLOPT_CONNECT_ONLY).
#ifndef WEBSOCKETS_H
#define WEBSOCKETS_H

#include "assignment.h"
#include "frames.h"
#include "loop.h"

#include <curl/curl.h>
#include <stdbool.h>

struct websocket {
    CURL *easy;
    curl_socket_t socket;
    struct incoming_frame incoming;
};

struct websockets {
    struct websocket *all;
    long count;
    long capacity;
    // The loop in which libcurl opens connections, and the epoll of the open WebSockets.
    struct loop loop;
    int epoll;
};

// Makes room for so many.
bool websockets_open(struct websockets *sockets, long capacity);

// Opens another WebSocket, and waits for it.
bool websockets_add(struct websockets *sockets, const char *url);

// Exchanges so many messages over all WebSockets. Each sends a message, awaits its echo, and sends the next. Returns
// how many echoes were received; fewer after a failure.
long websockets_echo(struct websockets *sockets, long messages);

void websockets_close(struct websockets *sockets);

#endif

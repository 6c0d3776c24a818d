// One connection of the server.
#ifndef CONNECTION_H
#define CONNECTION_H

#include "echo.h"
#include "request.h"

struct connection {
    int socket;
    enum { reading_head, reading_body, waiting, echoing } state;
    struct request request;
    // The WebSocket of a connection that is `echoing`.
    struct echo echo;
};

enum outcome { outcome_open, outcome_ask, outcome_answer, outcome_closed };

struct connection *connection_open(int socket);

// Reads what has come. `outcome_ask` is a request without a body, to be answered in its time; `outcome_answer` one
// whose body has come, to be answered at once; after `outcome_closed` nothing but `connection_close` is left to do. A
// request for a WebSocket is accepted here, and its frames are sent back.
enum outcome connection_read(struct connection *connection);

// Answers and waits for the next request.
enum outcome connection_answer(struct connection *connection);

void connection_close(struct connection *connection);

#endif

// What has been read of a request, and what is still to come.
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct request {
    char head[4096];
    size_t head_size;
    // Bytes of the body that have not come yet.
    long long body_left;
    bool has_body;
    bool expects_continue;
    bool asks_for_websocket;
};

enum progress { progress_more, progress_head, progress_failed };

// Looks for the end of the head in what has been read so far. After `progress_head` the members after `head_size` are
// set.
enum progress request_parse(struct request *request);

// Makes ready for the next request on the connection.
void request_reset(struct request *request);

#endif

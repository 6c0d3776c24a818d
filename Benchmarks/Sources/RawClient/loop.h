// epoll around a multi handle.
#ifndef LOOP_H
#define LOOP_H

#include <curl/curl.h>
#include <stdbool.h>

struct loop {
    CURLM *multi;
    int epoll;
    // When the engine wants to be called without news from a socket, in milliseconds; negative is never.
    long long deadline;
};

// Makes a multi handle with so many connections to a host at most, all of them kept.
bool loop_open(struct loop *loop, long connections);

// Waits for sockets and timers once and lets the engine work.
void loop_turn(struct loop *loop);

void loop_close(struct loop *loop);

#endif

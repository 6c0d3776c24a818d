// libcurl with as little around it as will go: what any client built on it must at least cost.

#include "assignment.h"
#include "loop.h"
#include "report.h"
#include "transfer.h"
#include "usage.h"
#include "websockets.h"

#include <stdio.h>
#include <stdlib.h>

static void start(struct loop *loop, struct transfer *transfer, const struct assignment *assignment) {
    static long turn;
    transfer_prepare(transfer, assignment->urls[turn++ % assignment->url_count]);
    curl_multi_add_handle(loop->multi, transfer->easy);
}

// Notes what has ended and starts what is left. Returns how many requests ended.
static long collect(struct loop *loop, const struct assignment *assignment, struct tally *tally, long *left) {
    CURLMsg *message;
    int waiting;
    long ended = 0;
    while ((message = curl_multi_info_read(loop->multi, &waiting))) {
        if (message->msg != CURLMSG_DONE) continue;
        struct transfer *transfer;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        if (!transfer_succeeded(transfer, code)) {
            if (tally->errors++ == 0) fprintf(stderr, "raw: %s\n", curl_easy_strerror(code));
        }
        curl_multi_remove_handle(loop->multi, transfer->easy);
        ended++;
        if (*left > 0) {
            (*left)--;
            start(loop, transfer, assignment);
        }
    }
    return ended;
}

static struct tally run(
    struct loop *loop, const struct assignment *assignment, struct transfer *transfers, long requests
) {
    struct tally tally = {.requests = requests};
    long left = requests;
    for (long index = 0; index < assignment->concurrency && left > 0; index++, left--)
        start(loop, &transfers[index], assignment);
    for (long ended = 0; ended < requests;) {
        loop_turn(loop);
        ended += collect(loop, assignment, &tally, &left);
    }
    return tally;
}

static long long bytes(const struct transfer *transfers, long count) {
    long long sum = 0;
    for (long index = 0; index < count; index++) sum += transfers[index].bytes;
    return sum;
}

static int measure(const struct assignment *assignment, struct loop *loop, struct transfer *transfers) {
    run(loop, assignment, transfers, assignment->warm_up);
    long long before = bytes(transfers, assignment->concurrency);
    struct usage begun = usage_now();
    struct tally tally = run(loop, assignment, transfers, assignment->requests);
    struct usage ended = usage_now();
    report(assignment, tally, begun, ended, bytes(transfers, assignment->concurrency) - before);
    return tally.errors == 0 ? 0 : 3;
}

static int measure_requests(const struct assignment *assignment) {
    struct loop loop;
    struct transfer *transfers = calloc((size_t)assignment->concurrency, sizeof *transfers);
    if (!transfers || !loop_open(&loop, assignment->connections)) return 1;
    for (long index = 0; index < assignment->concurrency; index++)
        if (!transfer_open(&transfers[index], assignment)) return 1;
    int status = measure(assignment, &loop, transfers);
    for (long index = 0; index < assignment->concurrency; index++) transfer_close(&transfers[index]);
    loop_close(&loop);
    free(transfers);
    return status;
}

// Opens WebSockets. Returns how many are open.
static long open_all(struct websockets *sockets, const struct assignment *assignment, long count) {
    for (long index = 0; index < count; index++)
        if (!websockets_add(sockets, assignment->urls[0])) return index;
    return count;
}

// Measures messages over WebSockets that are open, or the opening of WebSockets that stay open.
static int measure_websockets(const struct assignment *assignment) {
    struct websockets sockets;
    bool is_idle = assignment->workload == workload_websocket_idle;
    struct tally tally = {.requests = assignment->requests};
    if (!websockets_open(&sockets, is_idle ? assignment->requests : assignment->concurrency)) return 1;
    if (!is_idle && open_all(&sockets, assignment, assignment->concurrency) < assignment->concurrency) return 1;
    if (!is_idle && websockets_echo(&sockets, assignment->warm_up) < assignment->warm_up) return 1;
    struct usage begun = usage_now();
    long done = is_idle ? open_all(&sockets, assignment, tally.requests) : websockets_echo(&sockets, tally.requests);
    struct usage ended = usage_now();
    tally.errors = tally.requests - done;
    report(assignment, tally, begun, ended, is_idle ? 0 : (long long)done * message_size);
    websockets_close(&sockets);
    return tally.errors == 0 ? 0 : 3;
}

int main(int count, char **arguments) {
    struct assignment assignment;
    if (!assignment_read(&assignment, count, arguments)) {
        fputs(
            "usage: bench-raw WORKLOAD URL REQUESTS CONCURRENCY [--connections N] [--warm-up N] [--anchors PEM]"
            " [--file PATH] [--hosts N] [--http-version 3]\nworkloads: get, json, stream, upload, websocket-echo, websocket-idle\n",
            stderr
        );
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    bool is_websocket = assignment.workload >= workload_websocket_echo;
    int status = is_websocket ? measure_websockets(&assignment) : measure_requests(&assignment);
    assignment_free(&assignment);
    curl_global_cleanup();
    return status;
}

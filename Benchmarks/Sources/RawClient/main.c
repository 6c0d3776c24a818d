// libcurl with as little around it as will go: what any client built on it must at least cost.

#include "assignment.h"
#include "loop.h"
#include "transfer.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>

struct tally {
    long requests;
    long errors;
};

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

static void report(
    const struct assignment *assignment, struct tally tally, struct usage start, struct usage end, long long bytes
) {
    printf(
        "{\"client\":\"raw\",\"workload\":\"%s\",\"requests\":%ld,\"errors\":%ld,\"wall_seconds\":%.9f,"
        "\"cpu_seconds\":%.6f,\"peak_rss_bytes\":%ld,\"bytes\":%lld}\n",
        assignment->workload_name, tally.requests, tally.errors, end.wall_seconds - start.wall_seconds,
        end.processor_seconds - start.processor_seconds, usage_peak_resident_bytes(), bytes
    );
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

int main(int count, char **arguments) {
    struct assignment assignment;
    struct loop loop;
    if (!assignment_read(&assignment, count, arguments)) {
        fputs(
            "usage: bench-raw WORKLOAD URL REQUESTS CONCURRENCY [--connections N] [--warm-up N] [--anchors PEM]"
            " [--file PATH] [--hosts N]\nworkloads: get, json, stream, upload\n",
            stderr
        );
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    struct transfer *transfers = calloc((size_t)assignment.concurrency, sizeof *transfers);
    if (!transfers || !loop_open(&loop, assignment.connections)) return 1;
    for (long index = 0; index < assignment.concurrency; index++)
        if (!transfer_open(&transfers[index], &assignment)) return 1;
    int status = measure(&assignment, &loop, transfers);
    for (long index = 0; index < assignment.concurrency; index++) transfer_close(&transfers[index]);
    loop_close(&loop);
    assignment_free(&assignment);
    free(transfers);
    curl_global_cleanup();
    return status;
}

// An easy handle that makes one request after the other. Its options are set once, its URL for each request.
#ifndef TRANSFER_H
#define TRANSFER_H

#include "assignment.h"

#include <curl/curl.h>
#include <sys/types.h>

struct transfer {
    CURL *easy;
    // Bytes of bodies sent or received by all requests of this handle.
    long long bytes;
    // Header fields of every request.
    struct curl_slist *fields;
    // The file that is sent, and how far the present request is with it.
    int file;
    off_t position;
};

bool transfer_open(struct transfer *transfer, const struct assignment *assignment);

// Makes ready for another request. It starts when the handle is added to a multi handle.
void transfer_prepare(struct transfer *transfer, const char *url);

// Whether the request that has ended with `code` went well.
bool transfer_succeeded(const struct transfer *transfer, CURLcode code);

void transfer_close(struct transfer *transfer);

#endif

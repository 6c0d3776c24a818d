#include "assignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum workload workload;
} workloads[] = {
    {"get", workload_get},
    // There are no types to decode to in C: what stays is the floor that decoding comes on top of.
    {"json", workload_json},
    {"stream", workload_stream},
    {"upload", workload_upload},
    {"websocket-echo", workload_websocket_echo},
    {"websocket-idle", workload_websocket_idle},
};

static bool read_number(const char *text, long *number) {
    char *end;
    *number = strtol(text, &end, 10);
    return end != text && *end == '\0' && *number >= 0;
}

static bool read_workload(struct assignment *assignment, const char *name) {
    for (size_t index = 0; index < sizeof workloads / sizeof workloads[0]; index++) {
        if (strcmp(workloads[index].name, name) != 0) continue;
        assignment->workload = workloads[index].workload;
        assignment->workload_name = workloads[index].name;
        return true;
    }
    return false;
}

// Addresses of this machine in place of the one in the URL.
static bool make_urls(struct assignment *assignment, const char *url, long hosts) {
    static const char usual[] = "//127.0.0.1:";
    const char *place = hosts > 0 ? strstr(url, usual) : NULL;
    long count = place ? hosts : 1;
    assignment->urls = calloc((size_t)count, sizeof *assignment->urls);
    if (!assignment->urls) return false;
    for (; assignment->url_count < count; assignment->url_count++) {
        long index = assignment->url_count;
        size_t size = strlen(url) + 16;
        char *made = malloc(size);
        if (!made) return false;
        assignment->urls[index] = made;
        if (place)
            snprintf(made, size, "%.*s//127.0.%ld.%ld:%s", (int)(place - url), url, 1 + index / 250, 1 + index % 250,
                place + sizeof usual - 1);
        else
            strcpy(made, url);
    }
    return true;
}

void assignment_free(struct assignment *assignment) {
    for (long index = 0; index < assignment->url_count; index++) free(assignment->urls[index]);
    free(assignment->urls);
}

static bool read_option(struct assignment *assignment, const char *name, const char *value, long *hosts) {
    if (strcmp(name, "--hosts") == 0) return read_number(value, hosts);
    if (strcmp(name, "--connections") == 0) return read_number(value, &assignment->connections);
    if (strcmp(name, "--warm-up") == 0) return read_number(value, &assignment->warm_up);
    if (strcmp(name, "--anchors") == 0) return assignment->anchors_path = value, true;
    if (strcmp(name, "--http-version") == 0) return assignment->is_http3 = strcmp(value, "3") == 0;
    if (strcmp(name, "--file") == 0) return assignment->file_path = value, true;
    return false;
}

bool assignment_read(struct assignment *assignment, int count, char **arguments) {
    if (count < 5 || count % 2 == 0) return false;
    long hosts = 0;
    *assignment = (struct assignment){0};
    if (!read_workload(assignment, arguments[1])) return false;
    if (!read_number(arguments[3], &assignment->requests)) return false;
    if (!read_number(arguments[4], &assignment->concurrency) || assignment->concurrency == 0) return false;
    bool is_large = assignment->workload == workload_stream || assignment->workload == workload_upload;
    assignment->connections = assignment->concurrency;
    assignment->warm_up = is_large ? 0 : assignment->concurrency * 2;
    for (int index = 5; index < count; index += 2)
        if (!read_option(assignment, arguments[index], arguments[index + 1], &hosts)) return false;
    if (!make_urls(assignment, arguments[2], hosts)) return false;
    return assignment->workload != workload_upload || assignment->file_path != NULL;
}

#include "assignment.h"

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

static bool read_option(struct assignment *assignment, const char *name, const char *value) {
    if (strcmp(name, "--connections") == 0) return read_number(value, &assignment->connections);
    if (strcmp(name, "--warm-up") == 0) return read_number(value, &assignment->warm_up);
    if (strcmp(name, "--anchors") == 0) return assignment->anchors_path = value, true;
    if (strcmp(name, "--file") == 0) return assignment->file_path = value, true;
    return false;
}

bool assignment_read(struct assignment *assignment, int count, char **arguments) {
    if (count < 5 || count % 2 == 0) return false;
    *assignment = (struct assignment){.url = arguments[2]};
    if (!read_workload(assignment, arguments[1])) return false;
    if (!read_number(arguments[3], &assignment->requests)) return false;
    if (!read_number(arguments[4], &assignment->concurrency) || assignment->concurrency == 0) return false;
    bool is_large = assignment->workload == workload_stream || assignment->workload == workload_upload;
    assignment->connections = assignment->concurrency;
    assignment->warm_up = is_large ? 0 : assignment->concurrency * 2;
    for (int index = 5; index < count; index += 2)
        if (!read_option(assignment, arguments[index], arguments[index + 1])) return false;
    return assignment->workload != workload_upload || assignment->file_path != NULL;
}

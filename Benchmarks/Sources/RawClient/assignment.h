// What one run is asked to do, as read from the arguments; the same arguments as those of the other clients.
#ifndef ASSIGNMENT_H
#define ASSIGNMENT_H

#include <stdbool.h>

enum workload {
    workload_get,
    workload_json,
    workload_stream,
    workload_upload,
    workload_websocket_echo,
    workload_websocket_idle,
};

struct assignment {
    enum workload workload;
    const char *workload_name;
    // Where requests go, in turn.
    char **urls;
    long url_count;
    long requests;
    long concurrency;
    long connections;
    long warm_up;
    const char *anchors_path;
    const char *file_path;
    // Whether only HTTP/3 will do.
    bool is_http3;
};

// Reads the arguments. Returns false for a command line that cannot be used.
bool assignment_read(struct assignment *assignment, int count, char **arguments);

// Frees what was read.
void assignment_free(struct assignment *assignment);

#endif

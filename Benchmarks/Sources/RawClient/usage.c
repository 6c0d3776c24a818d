#include "usage.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

struct usage usage_now(void) {
    struct timespec clock;
    struct rusage usage;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    getrusage(RUSAGE_SELF, &usage);
    return (struct usage){
        .wall_seconds = (double)clock.tv_sec + (double)clock.tv_nsec / 1e9,
        .processor_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
    };
}

long usage_peak_resident_bytes(void) {
    FILE *file = fopen("/proc/self/status", "r");
    if (!file) return 0;
    char line[256];
    long kibibytes = 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &kibibytes) == 1) break;
    fclose(file);
    return kibibytes * 1024;
}

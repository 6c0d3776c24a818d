#include "report.h"

#include <stdio.h>

void report(
    const struct assignment *assignment, struct tally tally, struct usage start, struct usage end, long long bytes
) {
    printf(
        "{\"client\":\"raw\",\"workload\":\"%s\",\"requests\":%ld,\"errors\":%ld,\"wall_seconds\":%.9f,"
        "\"cpu_seconds\":%.6f,\"peak_rss_bytes\":%ld,\"bytes\":%lld}\n",
        assignment->workload_name, tally.requests, tally.errors, end.wall_seconds - start.wall_seconds,
        end.processor_seconds - start.processor_seconds, usage_peak_resident_bytes(), bytes
    );
}

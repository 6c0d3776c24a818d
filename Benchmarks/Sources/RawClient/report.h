// The figures of a run.
#ifndef REPORT_H
#define REPORT_H

#include "assignment.h"
#include "usage.h"

struct tally {
    long requests;
    long errors;
};

// Writes the line of a run on standard output.
void report(
    const struct assignment *assignment, struct tally tally, struct usage start, struct usage end, long long bytes
);

#endif

// What the process has used up to a moment.
#ifndef USAGE_H
#define USAGE_H

struct usage {
    double wall_seconds;
    // Processor time, user and system, of all threads.
    double processor_seconds;
};

struct usage usage_now(void);

// The most memory that the process has had resident, in bytes.
long usage_peak_resident_bytes(void);

#endif

// Takes the place of the C library's getaddrinfo in the test process, so that a look-up can be made to stall, and counted.
#ifndef CURLEW_STALLED_RESOLVER_H
#define CURLEW_STALLED_RESOLVER_H

/// How many look-ups of names under "stalled.test" are waiting.
int curlew_stalled_lookups(void);

/// Lets them all go, without an address.
void curlew_release_lookups(void);

/// How many look-ups there were of a name under "counted.test", all of which stand for 127.0.0.1. 64 names are counted at most.
int curlew_counted_lookups(const char *name);

#endif

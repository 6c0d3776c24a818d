// Takes the place of the C library's getaddrinfo in the test process, so that a look-up can be made to stall.
#ifndef CURLEW_STALLED_RESOLVER_H
#define CURLEW_STALLED_RESOLVER_H

/// How many look-ups of names under "stalled.test" are waiting.
int curlew_stalled_lookups(void);

/// Lets them all go, without an address.
void curlew_release_lookups(void);

#endif

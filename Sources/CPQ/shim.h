#ifndef CURLEW_PQ_H
#define CURLEW_PQ_H

#include <libpq-fe.h>

/// Notices of the server are not for the standard error of a program.
static inline void curlew_pq_ignore_notice(void *context, const PGresult *result) {
    (void)context;
    (void)result;
}

static inline void curlew_pq_silence(PGconn *connection) {
    PQsetNoticeReceiver(connection, curlew_pq_ignore_notice, NULL);
}

#endif

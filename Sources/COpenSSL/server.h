#ifndef CURLEW_COPENSSL_SERVER_H
#define CURLEW_COPENSSL_SERVER_H

// What a test's own TLS server needs and Swift cannot import: macros of OpenSSL.

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <string.h>

static inline int curlew_server_staple(
    SSL_CTX *_Nonnull context, int (*_Nonnull callback)(SSL *_Nullable, void *_Nullable), void *_Nullable argument
) {
    return SSL_CTX_set_tlsext_status_cb(context, callback) == 1 && SSL_CTX_set_tlsext_status_arg(context, argument) == 1;
}

// Gives a copy of the response to the connection; 1 on success.
static inline int curlew_server_set_response(SSL *_Nonnull connection, const void *_Nonnull bytes, long length) {
    void *copy = OPENSSL_malloc((size_t)length);
    if (copy == NULL) return 0;
    memcpy(copy, bytes, (size_t)length);
    return SSL_set_tlsext_status_ocsp_resp(connection, copy, length) == 1;
}

#endif

#ifndef CURLEW_COPENSSL_TRUST_H
#define CURLEW_COPENSSL_TRUST_H

// What verifying a peer and setting up TLS need and Swift cannot import: macros of OpenSSL, and its typed stacks.

#include <openssl/crypto.h>
#include <openssl/ocsp.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// MARK: Stacks

static inline int curlew_certificate_count(const STACK_OF(X509) *_Nullable stack) {
    return stack == NULL ? 0 : sk_X509_num(stack);
}
static inline X509 *_Nullable curlew_certificate_at(const STACK_OF(X509) *_Nonnull stack, int index) {
    return sk_X509_value(stack, index);
}
static inline STACK_OF(X509) *_Nullable curlew_certificates_new(void) { return sk_X509_new_null(); }
// Takes a reference of its own; 1 on success.
static inline int curlew_certificates_push(STACK_OF(X509) *_Nonnull stack, X509 *_Nonnull certificate) {
    if (X509_up_ref(certificate) != 1) return 0;
    if (sk_X509_push(stack, certificate) > 0) return 1;
    X509_free(certificate);
    return 0;
}
static inline void curlew_certificates_free(STACK_OF(X509) *_Nullable stack) { sk_X509_pop_free(stack, X509_free); }

static inline STACK_OF(X509_CRL) *_Nullable curlew_lists_new(void) { return sk_X509_CRL_new_null(); }
// Takes a reference of its own; 1 on success.
static inline int curlew_lists_push(STACK_OF(X509_CRL) *_Nonnull stack, X509_CRL *_Nonnull list) {
    if (X509_CRL_up_ref(list) != 1) return 0;
    if (sk_X509_CRL_push(stack, list) > 0) return 1;
    X509_CRL_free(list);
    return 0;
}
static inline void curlew_lists_free(STACK_OF(X509_CRL) *_Nullable stack) {
    sk_X509_CRL_pop_free(stack, X509_CRL_free);
}

static inline int curlew_name_count(const GENERAL_NAMES *_Nonnull names) { return sk_GENERAL_NAME_num(names); }
static inline const GENERAL_NAME *_Nullable curlew_name_at(const GENERAL_NAMES *_Nonnull names, int index) {
    return sk_GENERAL_NAME_value(names, index);
}
// The kind of a name, and for names of text and addresses their bytes; NULL for other kinds.
static inline int curlew_name_kind(const GENERAL_NAME *_Nonnull name) { return name->type; }
static inline const ASN1_STRING *_Nullable curlew_name_string(const GENERAL_NAME *_Nonnull name) {
    switch (name->type) {
    case GEN_DNS: return name->d.dNSName;
    case GEN_EMAIL: return name->d.rfc822Name;
    case GEN_URI: return name->d.uniformResourceIdentifier;
    case GEN_IPADD: return name->d.iPAddress;
    default: return NULL;
    }
}
static inline GENERAL_NAMES *_Nullable curlew_alternative_names(const X509 *_Nonnull certificate, int *_Nonnull critical) {
    return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, critical, NULL);
}
static inline void curlew_names_free(GENERAL_NAMES *_Nullable names) { GENERAL_NAMES_free(names); }

// Whether the TLS feature extension (RFC 7633) asks for a stapled response: 1 yes, 0 no, -1 the extension is broken.
static inline int curlew_must_staple(const X509 *_Nonnull certificate) {
    int critical = -1, found = 0;
    TLS_FEATURE *features = (TLS_FEATURE *)X509_get_ext_d2i(certificate, NID_tlsfeature, &critical, NULL);
    if (features == NULL) return critical == -1 ? 0 : -1;
    for (int index = 0; index < sk_ASN1_INTEGER_num(features); index++)
        if (ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, index)) == TLSEXT_TYPE_status_request) found = 1;
    TLS_FEATURE_free(features);
    return found;
}

// Name constraints; `critical` is -1 afterwards if there are none, and at least 0 with NULL if they are broken.
static inline NAME_CONSTRAINTS *_Nullable curlew_name_constraints(
    const X509 *_Nonnull certificate, int *_Nonnull critical
) {
    return (NAME_CONSTRAINTS *)X509_get_ext_d2i(certificate, NID_name_constraints, critical, NULL);
}
static inline int curlew_subtree_count(const STACK_OF(GENERAL_SUBTREE) *_Nullable trees) {
    return trees == NULL ? 0 : sk_GENERAL_SUBTREE_num(trees);
}
static inline const GENERAL_NAME *_Nullable curlew_subtree_base(
    const STACK_OF(GENERAL_SUBTREE) *_Nonnull trees, int index
) {
    return sk_GENERAL_SUBTREE_value(trees, index)->base;
}
static inline void curlew_name_constraints_free(NAME_CONSTRAINTS *_Nullable constraints) {
    NAME_CONSTRAINTS_free(constraints);
}

// How many places the authority information access (RFC 5280, section 4.2.2.1) names: -1 there is no such extension, -2 it
// is not what it has to be, to its last byte.
static inline int curlew_information_access_count(const X509 *_Nonnull certificate) {
    int index = X509_get_ext_by_NID(certificate, NID_info_access, -1);
    if (index < 0) return -1;
    const ASN1_OCTET_STRING *value = X509_EXTENSION_get_data(X509_get_ext(certificate, index));
    const unsigned char *start = ASN1_STRING_get0_data(value), *end = start + ASN1_STRING_length(value);
    AUTHORITY_INFO_ACCESS *access = d2i_AUTHORITY_INFO_ACCESS(NULL, &start, ASN1_STRING_length(value));
    int count = access == NULL || start != end ? -2 : sk_ACCESS_DESCRIPTION_num(access);
    AUTHORITY_INFO_ACCESS_free(access);
    return count;
}

// Writes a distinguished name as RFC 2253 has it, with text in UTF-8; 1 on success.
static inline int curlew_print_name(BIO *_Nonnull sink, const X509_NAME *_Nonnull name) {
    return X509_NAME_print_ex(sink, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0;
}

// MARK: Objects that others own

static inline int curlew_context_data_index(CRYPTO_EX_free *_Nonnull release) {
    return CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, NULL, NULL, NULL, release);
}
static inline int curlew_session_data_index(CRYPTO_EX_dup *_Nonnull duplicate, CRYPTO_EX_free *_Nonnull release) {
    return CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_SESSION, 0, NULL, NULL, duplicate, release);
}

// MARK: Contexts

static inline int curlew_context_set_versions(SSL_CTX *_Nonnull context, int lowest, int highest) {
    return SSL_CTX_set_min_proto_version(context, lowest) == 1 && SSL_CTX_set_max_proto_version(context, highest) == 1;
}
static inline int curlew_context_set_groups(SSL_CTX *_Nonnull context, const char *_Nonnull groups) {
    return SSL_CTX_set1_groups_list(context, groups) == 1;
}
static inline int curlew_context_add_chain(SSL_CTX *_Nonnull context, X509 *_Nonnull certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate) == 1;
}
static inline void curlew_context_clear_chain(SSL_CTX *_Nonnull context) { SSL_CTX_clear_chain_certs(context); }
static inline void curlew_context_set_certificate_limit(SSL_CTX *_Nonnull context, long bytes) {
    SSL_CTX_set_max_cert_list(context, bytes);
}
// libcurl leaves this work-around of old versions off in a context of CURLSSLOPT_ALLOW_BEAST, and there alone.
static inline int curlew_context_allows_beast(SSL_CTX *_Nonnull context) {
    return (SSL_CTX_get_options(context) & SSL_OP_DONT_INSERT_EMPTY_FRAGMENTS) != 0;
}
// New sessions are given to the callback, and kept nowhere else.
static inline void curlew_context_keep_sessions(SSL_CTX *_Nonnull context) {
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}
// A blocked write may be repeated from other memory with the same bytes. libcurl before 8.14 does not set this mode.
static inline void curlew_context_accept_moving_buffers(SSL_CTX *_Nonnull context) {
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
static inline void curlew_context_refuse_renegotiation(SSL_CTX *_Nonnull context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}
static inline int curlew_context_ask_for_status(
    SSL_CTX *_Nonnull context, int (*_Nonnull callback)(SSL *_Nullable, void *_Nullable), void *_Nullable argument
) {
    return SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp) == 1
        && SSL_CTX_set_tlsext_status_cb(context, callback) == 1
        && SSL_CTX_set_tlsext_status_arg(context, argument) == 1;
}
// The stapled response, which the connection owns, and its length; -1 without one.
static inline long curlew_stapled_response(SSL *_Nonnull connection, const unsigned char *_Nullable *_Nonnull bytes) {
    return SSL_get_tlsext_status_ocsp_resp(connection, bytes);
}
static inline int curlew_set_server_name(SSL *_Nonnull connection, const char *_Nullable name) {
    return SSL_set_tlsext_host_name(connection, (void *)name) == 1;
}

#endif

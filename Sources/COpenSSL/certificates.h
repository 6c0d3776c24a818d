#ifndef CURLEW_COPENSSL_CERTIFICATES_H
#define CURLEW_COPENSSL_CERTIFICATES_H

// What making certificates needs and Swift cannot import: macros and variadic functions of OpenSSL.

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

static inline EVP_PKEY *_Nullable curlew_ec_key(const char *_Nonnull curve) {
    return EVP_EC_gen(curve);
}

static inline EVP_PKEY *_Nullable curlew_rsa_key(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

static inline EVP_PKEY *_Nullable curlew_ed25519_key(void) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}

// Adds one extension in the notation of x509v3_config(5); 1 on success.
static inline int curlew_add_extension(
    X509 *_Nonnull certificate, X509 *_Nonnull issuer, int nid, const char *_Nonnull value
) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    if (extension == NULL) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

// Adds one extension whose DER value is given; 1 on success. OpenSSL copies the bytes unread.
static inline int curlew_add_encoded_extension(
    X509 *_Nonnull certificate, int nid, int critical, const unsigned char *_Nonnull bytes, int length
) {
    ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
    X509_EXTENSION *extension = NULL;
    int added = 0;
    if (value != NULL && ASN1_OCTET_STRING_set(value, bytes, length) == 1)
        extension = X509_EXTENSION_create_by_NID(NULL, nid, critical, value);
    if (extension != NULL) added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    ASN1_OCTET_STRING_free(value);
    return added;
}

#endif

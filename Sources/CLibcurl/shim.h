// curl's setters and getters are variadic, which Swift cannot call: one typed inline function an argument type.
#ifndef CURLEW_CLIBCURL_SHIM_H
#define CURLEW_CLIBCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK 1
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>

#if LIBCURL_VERSION_NUM < 0x075800
#error "Curlew needs libcurl 7.88 or newer"
#endif

static inline CURLcode curlew_easy_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_easy_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curlew_easy_set_blob(CURL *easy, CURLoption option, void *data, size_t length) {
    struct curl_blob blob = {data, length, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}
static inline CURLcode curlew_easy_set_data(
    CURL *easy, CURLoption option, size_t (*function)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(easy, option, function);
}
static inline CURLcode curlew_easy_set_seek(CURL *easy, int (*function)(void *, curl_off_t, int)) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}
static inline CURLcode curlew_easy_set_prereq(CURL *easy, int (*function)(void *, char *, char *, int, int)) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}
static inline CURLcode curlew_easy_set_open_socket(
    CURL *easy, curl_socket_t (*function)(void *, curlsocktype, struct curl_sockaddr *)) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}
static inline CURLcode curlew_easy_set_socket_option(CURL *easy, int (*function)(void *, curl_socket_t, curlsocktype)) {
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
}
// Puts another address in the place of the one that libcurl wants to connect to. It has room for those of IPv6.
static inline void curlew_set_address(struct curl_sockaddr *place, const struct sockaddr *address, socklen_t length) {
    place->family = address->sa_family;
    place->addrlen = length;
    memcpy(&place->addr, address, length);
}
static inline CURLcode curlew_easy_set_close_socket(CURL *easy, int (*function)(void *, curl_socket_t)) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}
static inline CURLcode curlew_easy_set_tls_context(CURL *easy, CURLcode (*function)(CURL *, void *, void *)) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}
static inline CURLcode curlew_easy_set_resolver_start(CURL *easy, int (*function)(void *, void *, void *)) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, function);
}
static inline CURLcode curlew_easy_set_debug(CURL *easy, int (*function)(CURL *, curl_infotype, char *, size_t, void *)) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
}
static inline CURLcode curlew_easy_set_trailer(CURL *easy, int (*function)(struct curl_slist **, void *)) {
    return curl_easy_setopt(easy, CURLOPT_TRAILERFUNCTION, function);
}

static inline CURLcode curlew_easy_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode curlew_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode curlew_easy_get_string(CURL *easy, CURLINFO info, const char **value) {
    return curl_easy_getinfo(easy, info, (char **)value);
}
static inline CURLcode curlew_easy_get_private(CURL *easy, void **value) {
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)value);
}
static inline CURLcode curlew_easy_get_tls(CURL *easy, struct curl_tlssessioninfo **value) {
    return curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, value);
}

static inline CURLMcode curlew_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode curlew_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode curlew_multi_set_socket(CURLM *multi, int (*function)(CURL *, curl_socket_t, int, void *, void *)) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}
static inline CURLMcode curlew_multi_set_timer(CURLM *multi, int (*function)(CURLM *, long, void *)) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}

// Acts on every transfer and connection of a handle. Deprecated for ordinary use, because it takes time for each of them.
static inline CURLMcode curlew_multi_act_on_all(CURLM *multi) {
    int running = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return curl_multi_socket_all(multi, &running);
#pragma GCC diagnostic pop
}

static inline CURLcode curlew_message_result(const CURLMsg *message) { return message->data.result; }

static inline unsigned int curlew_version_number(void) { return curl_version_info(CURLVERSION_NOW)->version_num; }

static inline int curlew_version_features(void) { return curl_version_info(CURLVERSION_NOW)->features; }
// The QUIC library, such as "ngtcp2/1.11.0 nghttp3/1.8.0"; NULL without HTTP/3.
static inline const char *curlew_quic_version(void) { return curl_version_info(CURLVERSION_NOW)->quic_version; }
static inline const char *curlew_authority_folder(void) { return curl_version_info(CURLVERSION_NOW)->capath; }

// Small blocks are malloc's own; who frees what was allocated before this was called does no harm.
static inline CURLcode curlew_global_init(curl_malloc_callback allocate, curl_free_callback release) {
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, allocate, release, realloc, strdup, calloc);
}
static inline CURLcode curlew_global_init_plain(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

#endif

#define _GNU_SOURCE
#include "system_faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static atomic_int skipped_calls[CURLEW_FAULT_COUNT];
static atomic_int armed[CURLEW_FAULT_COUNT];
static atomic_int hits[CURLEW_FAULT_COUNT];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

void curlew_arm_fault(enum curlew_fault fault, int skipped, int count) {
    atomic_store(&hits[fault], 0);
    atomic_store(&skipped_calls[fault], skipped);
    atomic_store(&armed[fault], count);
}

int curlew_fault_hits(enum curlew_fault fault) { return atomic_load(&hits[fault]); }

void curlew_await_fault(enum curlew_fault fault) {
    pthread_mutex_lock(&mutex);
    while (atomic_load(&hits[fault]) == 0) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

void curlew_disarm_faults(void) {
    for (int fault = 0; fault < CURLEW_FAULT_COUNT; fault++) atomic_store(&armed[fault], 0);
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CURLEW_NO_FAULTS
#endif
#endif

#ifdef CURLEW_NO_FAULTS

int curlew_faults_are_available(void) { return 0; }

#else

int curlew_faults_are_available(void) { return 1; }

// Found when they are first needed: the sanitizers call some of them before anything has run.
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// A session's requests are written by its loop's thread or by a caller's; all else is done by the loop's thread.
static int is_of_client(enum curlew_fault fault) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    if (strcmp(name, "curlew-test") == 0) return 1;
    int is_send = fault == CURLEW_FAULT_SHORT_SEND || fault == CURLEW_FAULT_INTERRUPTED_SEND ||
        fault == CURLEW_FAULT_OVERTAKEN_SEND;
    return is_send && strncmp(name, "NIO-", 4) != 0 && strcmp(name, "curlew-loop") != 0;
}

static int strikes(enum curlew_fault fault) {
    if (atomic_load_explicit(&armed[fault], memory_order_relaxed) <= 0 || !is_of_client(fault)) return 0;
    if (atomic_fetch_sub(&skipped_calls[fault], 1) > 0) return 0;
    if (atomic_fetch_sub(&armed[fault], 1) <= 0) return 0;
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&hits[fault], 1);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    return 1;
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
    if (operation == EPOLL_CTL_ADD && strikes(CURLEW_FAULT_EPOLL_ADD)) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(epoll_ctl)(epoll, operation, descriptor, event);
}

static int is_tcp(int family, int kind) {
    return (family == AF_INET || family == AF_INET6) && (kind & 0xF) == SOCK_STREAM;
}

int socket(int family, int kind, int protocol) {
    if (is_tcp(family, kind) && strikes(CURLEW_FAULT_SOCKET)) {
        errno = EMFILE;
        return -1;
    }
    if (is_tcp(family, kind) && !(kind & SOCK_NONBLOCK)) (void)strikes(CURLEW_FAULT_BLOCKING_SOCKET);
    return REAL(socket)(family, kind, protocol);
}

ssize_t send(int descriptor, const void *bytes, size_t count, int flags) {
    if (strikes(CURLEW_FAULT_INTERRUPTED_SEND)) {
        errno = EINTR;
        return -1;
    }
    if (count > 1 && strikes(CURLEW_FAULT_SHORT_SEND)) return REAL(send)(descriptor, bytes, count / 2, flags);
    if (strikes(CURLEW_FAULT_OVERTAKEN_SEND)) {
        struct pollfd input = {descriptor, POLLIN, 0};
        poll(&input, 1, 20000);
        return REAL(send)(descriptor, bytes, count, flags | MSG_MORE);
    }
    return REAL(send)(descriptor, bytes, count, flags);
}

#endif

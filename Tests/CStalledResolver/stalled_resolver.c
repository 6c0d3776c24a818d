#define _GNU_SOURCE
#include "stalled_resolver.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int waiting = 0;
static unsigned round_number = 0;

int curlew_stalled_lookups(void) {
    pthread_mutex_lock(&mutex);
    int count = waiting;
    pthread_mutex_unlock(&mutex);
    return count;
}

void curlew_release_lookups(void) {
    pthread_mutex_lock(&mutex);
    round_number += 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}

static int is_stalled(const char *node) {
    static const char suffix[] = "stalled.test";
    size_t length = node ? strlen(node) : 0;
    return length >= sizeof(suffix) - 1 && strcmp(node + length - (sizeof(suffix) - 1), suffix) == 0;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (is_stalled(node)) {
        pthread_mutex_lock(&mutex);
        unsigned round = round_number;
        waiting += 1;
        while (round == round_number) pthread_cond_wait(&condition, &mutex);
        waiting -= 1;
        pthread_mutex_unlock(&mutex);
        return EAI_NONAME;
    }
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
    return real ? real(node, service, hints, result) : EAI_SYSTEM;
}

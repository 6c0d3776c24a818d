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

static int is_under(const char *node, const char *suffix) {
    size_t length = node ? strlen(node) : 0;
    return length >= strlen(suffix) && strcmp(node + length - strlen(suffix), suffix) == 0;
}

static struct {
    char name[64];
    int count;
} counted[64];

/// The place of a name, which may be a free one; -1 if there is none. Under the mutex.
static int place_of(const char *name) {
    for (int index = 0; index < 64; index += 1) {
        if (!counted[index].name[0]) return index;
        if (strncmp(counted[index].name, name, sizeof(counted[index].name)) == 0) return index;
    }
    return -1;
}

int curlew_counted_lookups(const char *name) {
    pthread_mutex_lock(&mutex);
    int place = place_of(name);
    int count = place < 0 ? 0 : counted[place].count;
    pthread_mutex_unlock(&mutex);
    return count;
}

static void count_lookup(const char *name) {
    pthread_mutex_lock(&mutex);
    int place = place_of(name);
    if (place >= 0 && strlen(name) < sizeof(counted[place].name)) {
        strcpy(counted[place].name, name);
        counted[place].count += 1;
    }
    pthread_mutex_unlock(&mutex);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
    if (is_under(node, "counted.test")) {
        count_lookup(node);
        node = "127.0.0.1";
    }
    if (is_under(node, "stalled.test")) {
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

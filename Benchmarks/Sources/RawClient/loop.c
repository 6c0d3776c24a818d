#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// Tells epoll what the engine waits for. `known` is NULL until a socket has been added and is then set with
// curl_multi_assign, so that no table of sockets is needed.
static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
    (void)easy;
    struct loop *loop = context;
    struct epoll_event event = {.data.fd = socket};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, socket, &event);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    int operation = known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(loop->epoll, operation, socket, &event) != 0 && errno == EEXIST)
        epoll_ctl(loop->epoll, EPOLL_CTL_MOD, socket, &event);
    if (!known) curl_multi_assign(loop->multi, socket, loop);
    return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *context) {
    (void)multi;
    struct loop *loop = context;
    loop->deadline = milliseconds < 0 ? -1 : now() + milliseconds;
    return 0;
}

bool loop_open(struct loop *loop, long connections) {
    *loop = (struct loop){.multi = curl_multi_init(), .epoll = epoll_create1(EPOLL_CLOEXEC), .deadline = -1};
    if (!loop->multi || loop->epoll < 0) return false;
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
    curl_multi_setopt(loop->multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
    curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, connections);
    curl_multi_setopt(loop->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    return true;
}

// What epoll may wait for at most: 0 if the engine's timer is due.
static int patience(const struct loop *loop) {
    if (loop->deadline < 0) return -1;
    long long left = loop->deadline - now();
    return left > 0 ? (int)left : 0;
}

void loop_turn(struct loop *loop) {
    struct epoll_event events[256];
    int running;
    int count = epoll_wait(loop->epoll, events, sizeof events / sizeof events[0], patience(loop));
    for (int index = 0; index < count; index++) {
        int mask = 0;
        if (events[index].events & (EPOLLIN | EPOLLHUP)) mask |= CURL_CSELECT_IN;
        if (events[index].events & EPOLLOUT) mask |= CURL_CSELECT_OUT;
        if (events[index].events & EPOLLERR) mask |= CURL_CSELECT_ERR;
        curl_multi_socket_action(loop->multi, events[index].data.fd, mask, &running);
    }
    if (loop->deadline >= 0 && now() >= loop->deadline) {
        loop->deadline = -1;
        curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
}

void loop_close(struct loop *loop) {
    curl_multi_cleanup(loop->multi);
    close(loop->epoll);
}

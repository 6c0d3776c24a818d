#define _GNU_SOURCE
#include "websockets.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { wait_milliseconds = 10000 };

bool websockets_open(struct websockets *sockets, long capacity) {
    *sockets = (struct websockets){.capacity = capacity, .epoll = epoll_create1(EPOLL_CLOEXEC)};
    sockets->all = calloc((size_t)capacity, sizeof *sockets->all);
    return sockets->all && sockets->epoll >= 0 && loop_open(&sockets->loop, capacity);
}

// Lets libcurl open the connection of a handle, which stays in the multi handle as long as it is used.
static bool connect_handle(struct websockets *sockets, CURL *easy) {
    if (curl_multi_add_handle(sockets->loop.multi, easy) != CURLM_OK) return false;
    for (;;) {
        int waiting;
        CURLMsg *message = curl_multi_info_read(sockets->loop.multi, &waiting);
        if (message && message->msg == CURLMSG_DONE) return message->data.result == CURLE_OK;
        loop_turn(&sockets->loop);
    }
}

static bool wait_for(curl_socket_t socket, short events) {
    struct pollfd entry = {.fd = socket, .events = events};
    return poll(&entry, 1, wait_milliseconds) > 0;
}

// Sends the request for an upgrade. Its key is the same for all: the benchmark does not check the answer to it.
static bool ask(const struct websocket *made, const char *url) {
    const char *authority = strstr(url, "//");
    authority = authority ? authority + 2 : url;
    int size = (int)strcspn(authority, "/");
    char request[1024];
    int length = snprintf(
        request, sizeof request,
        "GET %s HTTP/1.1\r\nHost: %.*s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        authority[size] ? authority + size : "/", size, authority
    );
    size_t sent = 0;
    return length < (int)sizeof request && curl_easy_send(made->easy, request, (size_t)length, &sent) == CURLE_OK
        && sent == (size_t)length;
}

// Reads the head of the answer.
static bool is_accepted(const struct websocket *made) {
    char head[1024];
    size_t size = 0;
    while (size < sizeof head - 1) {
        size_t count = 0;
        CURLcode code = curl_easy_recv(made->easy, head + size, sizeof head - 1 - size, &count);
        if (code == CURLE_AGAIN) {
            if (!wait_for(made->socket, POLLIN)) return false;
            continue;
        }
        if (code != CURLE_OK || count == 0) return false;
        size += count;
        head[size] = '\0';
        if (strstr(head, "\r\n\r\n")) return strncmp(head, "HTTP/1.1 101 ", 13) == 0;
    }
    return false;
}

bool websockets_add(struct websockets *sockets, const char *url) {
    if (sockets->count == sockets->capacity) return false;
    struct websocket *made = &sockets->all[sockets->count];
    *made = (struct websocket){.easy = curl_easy_init()};
    if (!made->easy) return false;
    sockets->count++;
    curl_easy_setopt(made->easy, CURLOPT_URL, url);
    curl_easy_setopt(made->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(made->easy, CURLOPT_CONNECT_ONLY, 1L);
    if (!connect_handle(sockets, made->easy)) return false;
    if (curl_easy_getinfo(made->easy, CURLINFO_ACTIVESOCKET, &made->socket) != CURLE_OK) return false;
    if (!ask(made, url) || !is_accepted(made)) return false;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = made};
    return epoll_ctl(sockets->epoll, EPOLL_CTL_ADD, made->socket, &event) == 0;
}

// Sends a message. A buffer of the system has room for it, because all messages before it were answered.
static bool send_message(struct websocket *used, const unsigned char *message) {
    static unsigned char frame[sent_frame_size];
    size_t sent = 0;
    return frame_write(frame, message) && curl_easy_send(used->easy, frame, sizeof frame, &sent) == CURLE_OK
        && sent == sizeof frame;
}

// Reads once: what is not here yet is another event of the socket.
static enum received receive(struct websocket *used) {
    static unsigned char space[64 << 10];
    size_t count = 0;
    CURLcode code = curl_easy_recv(used->easy, space, sizeof space, &count);
    if (code == CURLE_AGAIN) return received_part;
    return code == CURLE_OK && count > 0 ? frame_receive(&used->incoming, space, count) : received_other;
}

long websockets_echo(struct websockets *sockets, long messages) {
    static unsigned char message[message_size];
    struct epoll_event events[256];
    long left = messages, received = 0;
    for (long index = 0; index < sockets->count && left > 0; index++, left--)
        if (!send_message(&sockets->all[index], message)) return received;
    while (received < messages) {
        int count = epoll_wait(sockets->epoll, events, sizeof events / sizeof events[0], wait_milliseconds);
        if (count <= 0) return received;
        for (int index = 0; index < count; index++) {
            struct websocket *used = events[index].data.ptr;
            enum received result = receive(used);
            if (result == received_part) continue;
            if (result == received_other) return received;
            received++;
            if (left > 0 && left-- && !send_message(used, message)) return received;
        }
    }
    return received;
}

void websockets_close(struct websockets *sockets) {
    for (long index = 0; index < sockets->count; index++) {
        curl_multi_remove_handle(sockets->loop.multi, sockets->all[index].easy);
        curl_easy_cleanup(sockets->all[index].easy);
    }
    loop_close(&sockets->loop);
    free(sockets->all);
    close(sockets->epoll);
}

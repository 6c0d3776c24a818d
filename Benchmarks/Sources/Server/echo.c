#define _GNU_SOURCE
#include "echo.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// The greatest header of a frame: two bytes, eight bytes of length, and four bytes of mask.
enum { header_limit = 14, key_size = 24 };

// The single thread reads one socket at a time. A frame must fit into the buffer.
static unsigned char input[256 << 10];

struct frame {
    unsigned char first;
    const unsigned char *mask;
    unsigned char *payload;
    size_t size;
};

bool echo_accept(int socket, const char *head) {
    static const char field[] = "\r\nsec-websocket-key:";
    static const char suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    const char *key = strcasestr(head, field);
    if (!key) return false;
    key += sizeof field - 1;
    key += strspn(key, " \t");
    if (strcspn(key, "\r") < key_size) return false;
    unsigned char text[key_size + sizeof suffix], digest[SHA_DIGEST_LENGTH], accept[2 * SHA_DIGEST_LENGTH];
    memcpy(text, key, key_size);
    memcpy(text + key_size, suffix, sizeof suffix);
    SHA1(text, key_size + sizeof suffix - 1, digest);
    EVP_EncodeBlock(accept, digest, sizeof digest);
    char answer[256];
    int size = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
        (const char *)accept
    );
    return send(socket, answer, (size_t)size, MSG_NOSIGNAL) == size;
}

// Reads a frame at the start of the bytes. Returns its size on the wire, 0 if it is incomplete, and -1 for a frame that
// is not masked or too large.
static ssize_t parse(struct frame *frame, unsigned char *bytes, size_t count) {
    if (count < 2) return 0;
    if (!(bytes[1] & 0x80)) return -1;
    size_t length = bytes[1] & 0x7F, header = 6;
    size_t length_bytes = length == 126 ? 2 : length == 127 ? 8 : 0;
    header += length_bytes;
    if (count < header) return 0;
    if (length_bytes > 0) length = 0;
    for (size_t index = 0; index < length_bytes; index++) length = length << 8 | bytes[2 + index];
    if (length > sizeof input - header_limit) return -1;
    if (count < header + length) return 0;
    *frame = (struct frame){bytes[0], bytes + header - 4, bytes + header, length};
    return (ssize_t)(header + length);
}

static void unmask(struct frame frame) {
    uint64_t mask;
    memcpy(&mask, frame.mask, 4);
    memcpy((char *)&mask + 4, frame.mask, 4);
    size_t offset = 0;
    for (; offset + 8 <= frame.size; offset += 8) {
        uint64_t word;
        memcpy(&word, frame.payload + offset, 8);
        word ^= mask;
        memcpy(frame.payload + offset, &word, 8);
    }
    for (; offset < frame.size; offset++) frame.payload[offset] ^= frame.mask[offset % 4];
}

// Sends a frame without a mask. Its header replaces the end of the longer header before the payload. Returns false at
// the end of the connection; a client that does not read counts as such.
static bool send_back(int socket, struct frame frame) {
    unmask(frame);
    unsigned char first = (frame.first & 0x0F) == 0x9 ? (frame.first & 0xF0) | 0xA : frame.first;
    size_t length_bytes = frame.size < 126 ? 0 : frame.size <= 0xFFFF ? 2 : 8;
    unsigned char *start = frame.payload - 2 - length_bytes;
    start[0] = first;
    start[1] = (unsigned char)(length_bytes == 0 ? frame.size : length_bytes == 2 ? 126 : 127);
    for (size_t index = 0; index < length_bytes; index++)
        start[2 + index] = (unsigned char)(frame.size >> 8 * (length_bytes - 1 - index));
    size_t size = frame.size + 2 + length_bytes;
    return send(socket, start, size, MSG_NOSIGNAL) == (ssize_t)size && (first & 0x0F) != 0x8;
}

static bool keep(struct echo *echo, const unsigned char *bytes, size_t count) {
    if (count == 0) return true;
    echo->rest = malloc(count);
    if (!echo->rest) return false;
    memcpy(echo->rest, bytes, count);
    echo->rest_size = count;
    return true;
}

bool echo_read(struct echo *echo, int socket) {
    size_t size = echo->rest_size;
    if (size > 0) memcpy(input, echo->rest, size);
    ssize_t received = recv(socket, input + size, sizeof input - size, 0);
    if (received <= 0) return received < 0 && (errno == EAGAIN || errno == EINTR);
    echo_free(echo);
    size += (size_t)received;
    size_t position = 0;
    while (position < size) {
        struct frame frame;
        ssize_t taken = parse(&frame, input + position, size - position);
        if (taken < 0 || (taken > 0 && !send_back(socket, frame))) return false;
        if (taken == 0) break;
        position += (size_t)taken;
    }
    return keep(echo, input + position, size - position);
}

void echo_free(struct echo *echo) {
    free(echo->rest);
    *echo = (struct echo){0};
}

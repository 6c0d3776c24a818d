#include "frames.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

// The two bytes before the length: a final binary frame, and the mark of a length of two bytes.
enum { final_binary = 0x82, masked = 0x80, two_byte_length = 126 };

// The next random mask. The system is asked for many at a time.
static bool next_mask(uint32_t *mask) {
    static uint32_t masks[1024];
    static size_t left;
    if (left == 0) {
        size_t filled = 0;
        while (filled < sizeof masks) {
            ssize_t count = getrandom((char *)masks + filled, sizeof masks - filled, 0);
            if (count < 0) return false;
            filled += (size_t)count;
        }
        left = sizeof masks / sizeof masks[0];
    }
    *mask = masks[--left];
    return true;
}

bool frame_write(unsigned char *frame, const unsigned char *message) {
    uint32_t mask;
    if (!next_mask(&mask)) return false;
    const unsigned char start[4] = {final_binary, masked | two_byte_length, message_size >> 8, message_size & 0xFF};
    memcpy(frame, start, 4);
    memcpy(frame + 4, &mask, 4);
    for (size_t offset = 0; offset < message_size; offset += 4) {
        uint32_t word;
        memcpy(&word, message + offset, 4);
        word ^= mask;
        memcpy(frame + 8 + offset, &word, 4);
    }
    return true;
}

enum received frame_receive(struct incoming_frame *frame, const unsigned char *bytes, size_t count) {
    static const unsigned char start[4] = {final_binary, two_byte_length, message_size >> 8, message_size & 0xFF};
    for (size_t index = 0; index < count && frame->size + index < 4; index++)
        frame->header[frame->size + index] = bytes[index];
    frame->size += count;
    if (frame->size < 4) return received_part;
    if (frame->size > received_frame_size || memcmp(frame->header, start, 4) != 0) return received_other;
    if (frame->size < received_frame_size) return received_part;
    frame->size = 0;
    return received_frame;
}

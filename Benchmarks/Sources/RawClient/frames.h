// The frames of a WebSocket (RFC 6455): the client's are masked, the server's are not.
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    // The size of every message.
    message_size = 1024,
    // The size of its frame from the server: a header of four bytes before it.
    received_frame_size = 4 + message_size,
    // The size of its frame to the server: the mask is in the header, too.
    sent_frame_size = 8 + message_size,
};

// Writes the frame of a binary message with a new random mask. Returns false if there is none.
bool frame_write(unsigned char *frame, const unsigned char *message);

// A frame that is being received.
struct incoming_frame {
    unsigned char header[4];
    size_t size;
};

enum received { received_part, received_frame, received_other };

// Takes received bytes. `received_other` is a frame that is not the echo of a message, or more than one frame.
enum received frame_receive(struct incoming_frame *frame, const unsigned char *bytes, size_t count);

#endif

#pragma once

#include <gif_lib.h>
#include <string.h>

// Bytes that a GIF is read from.
typedef struct {
    const unsigned char *_Nonnull bytes;
    size_t size;
    size_t position;
} curlew_gif_source;

static inline int curlew_gif_read(GifFileType *_Nonnull file, GifByteType *_Nonnull into, int count) {
    curlew_gif_source *source = (curlew_gif_source *)file->UserData;
    size_t left = source->size - source->position;
    size_t taken = (size_t)count < left ? (size_t)count : left;
    memcpy(into, source->bytes + source->position, taken);
    source->position += taken;
    return (int)taken;
}

static inline GifFileType *_Nullable curlew_gif_open(curlew_gif_source *_Nonnull source, int *_Nonnull error) {
    return DGifOpen(source, curlew_gif_read, error);
}

static inline void curlew_gif_close(GifFileType *_Nonnull file) {
    int error;
    DGifCloseFile(file, &error);
}

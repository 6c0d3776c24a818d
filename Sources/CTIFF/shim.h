#pragma once

#include <string.h>
#include <tiffio.h>

// Bytes that a TIFF is read from. Nothing is written.
typedef struct {
    const unsigned char *_Nonnull bytes;
    tmsize_t size;
    toff_t position;
} curlew_tiff_source;

static inline tmsize_t curlew_tiff_read(thandle_t handle, void *_Nonnull into, tmsize_t count) {
    curlew_tiff_source *source = (curlew_tiff_source *)handle;
    if (count < 0 || source->position >= (toff_t)source->size) return 0;
    tmsize_t left = source->size - (tmsize_t)source->position;
    tmsize_t taken = count < left ? count : left;
    memcpy(into, source->bytes + source->position, (size_t)taken);
    source->position += (toff_t)taken;
    return taken;
}

static inline tmsize_t curlew_tiff_write(thandle_t handle, void *_Nonnull from, tmsize_t count) { return -1; }

static inline toff_t curlew_tiff_seek(thandle_t handle, toff_t offset, int whence) {
    curlew_tiff_source *source = (curlew_tiff_source *)handle;
    if (whence == SEEK_CUR) offset += source->position;
    if (whence == SEEK_END) offset += (toff_t)source->size;
    source->position = offset;
    return offset;
}

static inline int curlew_tiff_close(thandle_t handle) { return 0; }

static inline toff_t curlew_tiff_size(thandle_t handle) { return (toff_t)((curlew_tiff_source *)handle)->size; }

static inline int curlew_tiff_silent(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
    return 1;
}

// `limit` bounds what a single part of the file may allocate, whatever it says of itself.
static inline TIFF *_Nullable curlew_tiff_open(curlew_tiff_source *_Nonnull source, tmsize_t limit) {
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL) return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, limit);
    TIFFOpenOptionsSetErrorHandlerExtR(options, curlew_tiff_silent, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, curlew_tiff_silent, NULL);
    // Neither mapped ('m') nor in parts that are opened later.
    TIFF *tiff = TIFFClientOpenExt(
        "image", "rm", source, curlew_tiff_read, curlew_tiff_write, curlew_tiff_seek, curlew_tiff_close,
        curlew_tiff_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

// The getters and setters take any number of arguments.
static inline int curlew_tiff_get32(TIFF *_Nonnull tiff, uint32_t tag, uint32_t *_Nonnull value) {
    return TIFFGetField(tiff, tag, value);
}

static inline int curlew_tiff_get16(TIFF *_Nonnull tiff, uint32_t tag, uint16_t *_Nonnull value) {
    return TIFFGetFieldDefaulted(tiff, tag, value);
}

static inline int curlew_tiff_set16(TIFF *_Nonnull tiff, uint32_t tag, uint16_t value) {
    return TIFFSetField(tiff, tag, value);
}

// Whether the picture is of greys that are not multiplied by their alpha.
static inline int curlew_tiff_has_plain_gray(TIFF *_Nonnull tiff) {
    uint16_t photometric = PHOTOMETRIC_RGB, count = 0, *extra = NULL;
    if (TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric) != 1) return 0;
    if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE) return 0;
    return TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &extra) == 1 && count > 0 && extra != NULL
        && extra[0] == EXTRASAMPLE_UNASSALPHA;
}

static inline int curlew_tiff_has_profile(TIFF *_Nonnull tiff) {
    uint32_t size = 0;
    void *profile = NULL;
    return TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &size, &profile) == 1 && size > 0;
}

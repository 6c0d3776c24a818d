#pragma once

#include <string.h>
#include <tiffio.h>

// Bytes that a TIFF is read from. Nothing is written.
typedef struct {
    const unsigned char *_Nonnull bytes;
    tmsize_t size;
    toff_t position;
    // How many bytes may still be read: thousands of entries may name the same ones.
    tmsize_t budget;
} curlew_tiff_source;

// The pixels and all tables are read once, and now and then a few bytes again.
static inline void curlew_tiff_allow(curlew_tiff_source *_Nonnull source) { source->budget = 2 * source->size + (64 << 10); }

static inline tmsize_t curlew_tiff_read(thandle_t handle, void *_Nonnull into, tmsize_t count) {
    curlew_tiff_source *source = (curlew_tiff_source *)handle;
    if (count < 0 || source->position >= (toff_t)source->size) return 0;
    tmsize_t left = source->size - (tmsize_t)source->position;
    tmsize_t taken = count < left ? count : left;
    if (taken > source->budget) return 0;
    source->budget -= taken;
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
    curlew_tiff_allow(source);
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

// The bytes of all tiles or strips together, as they are once they are decompressed; UINT64_MAX if there are more than can be said.
static inline uint64_t curlew_tiff_decoded_size(TIFF *_Nonnull tiff) {
    int is_tiled = TIFFIsTiled(tiff);
    uint64_t count = is_tiled ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
    uint64_t size = is_tiled ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
    return size != 0 && count > UINT64_MAX / size ? UINT64_MAX : count * size;
}

// How greys with an alpha that they are not multiplied by come out of libtiff.
enum curlew_tiff_gray { curlew_tiff_gray_done, curlew_tiff_gray_plain, curlew_tiff_gray_wrong };

// libtiff multiplies colours by alpha. Of greys it does so where they stand in a plane of their own, leaves them where they have eight bits and their
// alpha beside them, and drops alpha where they have sixteen. In planes of their own it also forgets that white may be zero.
static inline enum curlew_tiff_gray curlew_tiff_gray(TIFF *_Nonnull tiff) {
    uint16_t photometric = PHOTOMETRIC_RGB, count = 0, *extra = NULL, bits = 8, planar = PLANARCONFIG_CONTIG;
    if (TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric) != 1) return curlew_tiff_gray_done;
    if (photometric != PHOTOMETRIC_MINISBLACK && photometric != PHOTOMETRIC_MINISWHITE) return curlew_tiff_gray_done;
    if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &extra) != 1 || count == 0 || extra == NULL
        || extra[0] == EXTRASAMPLE_UNSPECIFIED)
        return curlew_tiff_gray_done;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    if (planar == PLANARCONFIG_SEPARATE)
        return photometric == PHOTOMETRIC_MINISWHITE ? curlew_tiff_gray_wrong : curlew_tiff_gray_done;
    if (bits > 8) return curlew_tiff_gray_wrong;
    return extra[0] == EXTRASAMPLE_UNASSALPHA ? curlew_tiff_gray_plain : curlew_tiff_gray_done;
}

static inline int curlew_tiff_has_profile(TIFF *_Nonnull tiff) {
    uint32_t size = 0;
    void *profile = NULL;
    return TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &size, &profile) == 1 && size > 0;
}

#pragma once

#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>

// Decodes into memory of the caller, premultiplied RGBA, scaled while it is decoded.
static inline int curlew_webp_configure(
    WebPDecoderConfig *_Nonnull config, int width, int height, int is_scaled, uint8_t *_Nonnull pixels) {
    if (!WebPInitDecoderConfig(config)) return 0;
    config->options.use_scaling = is_scaled;
    config->options.scaled_width = width;
    config->options.scaled_height = height;
    config->output.colorspace = MODE_rgbA;
    config->output.is_external_memory = 1;
    config->output.u.RGBA.rgba = pixels;
    config->output.u.RGBA.stride = width * 4;
    config->output.u.RGBA.size = (size_t)width * 4 * (size_t)height;
    return 1;
}

static inline VP8StatusCode curlew_webp_decode(
    const uint8_t *_Nonnull data, size_t size, int width, int height, int is_scaled, uint8_t *_Nonnull pixels) {
    WebPDecoderConfig config;
    if (!curlew_webp_configure(&config, width, height, is_scaled, pixels)) return VP8_STATUS_INVALID_PARAM;
    VP8StatusCode status = WebPDecode(data, size, &config);
    WebPFreeDecBuffer(&config.output);
    return status;
}

// Decodes what there is of a picture. Returns the number of rows that are there.
static inline int curlew_webp_decode_beginning(
    const uint8_t *_Nonnull data, size_t size, int width, int height, int is_scaled, uint8_t *_Nonnull pixels) {
    WebPDecoderConfig config;
    if (!curlew_webp_configure(&config, width, height, is_scaled, pixels)) return 0;
    WebPIDecoder *decoder = WebPIDecode(NULL, 0, &config);
    if (decoder == NULL) return 0;
    int rows = 0;
    VP8StatusCode status = WebPIUpdate(decoder, data, size);
    if (status == VP8_STATUS_OK || status == VP8_STATUS_SUSPENDED) {
        if (WebPIDecGetRGB(decoder, &rows, NULL, NULL, NULL) == NULL) rows = 0;
    }
    WebPIDelete(decoder);
    WebPFreeDecBuffer(&config.output);
    return rows;
}

// These check the version of the interface, which is a macro.
static inline WebPAnimDecoder *_Nullable curlew_webp_animation(const uint8_t *_Nonnull data, size_t size) {
    WebPAnimDecoderOptions options;
    if (!WebPAnimDecoderOptionsInit(&options)) return NULL;
    options.color_mode = MODE_rgbA;
    options.use_threads = 0;
    WebPData bytes = {data, size};
    return WebPAnimDecoderNew(&bytes, &options);
}

// The EXIF part of a file. What is returned points into `data`.
static inline const uint8_t *_Nullable curlew_webp_exif(const uint8_t *_Nonnull data, size_t size, size_t *_Nonnull length) {
    WebPData bytes = {data, size};
    WebPDemuxer *demuxer = WebPDemux(&bytes);
    if (demuxer == NULL) return NULL;
    WebPChunkIterator chunk;
    const uint8_t *found = NULL;
    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
        found = chunk.chunk.bytes;
        *length = chunk.chunk.size;
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    WebPDemuxDelete(demuxer);
    return found;
}

static inline uint32_t curlew_webp_frame_count(const uint8_t *_Nonnull data, size_t size) {
    WebPData bytes = {data, size};
    WebPDemuxer *demuxer = WebPDemux(&bytes);
    if (demuxer == NULL) return 0;
    uint32_t count = WebPDemuxGetI(demuxer, WEBP_FF_FRAME_COUNT);
    WebPDemuxDelete(demuxer);
    return count;
}

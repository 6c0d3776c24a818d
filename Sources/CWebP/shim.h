#pragma once

#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>

// A picture, scaled while it is decoded, into memory of the caller: premultiplied RGBA.
static inline VP8StatusCode curlew_webp_decode(
    const uint8_t *_Nonnull data, size_t size, int width, int height, int is_scaled, uint8_t *_Nonnull pixels) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return VP8_STATUS_INVALID_PARAM;
    config.options.use_scaling = is_scaled;
    config.options.scaled_width = width;
    config.options.scaled_height = height;
    config.output.colorspace = MODE_rgbA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = pixels;
    config.output.u.RGBA.stride = width * 4;
    config.output.u.RGBA.size = (size_t)width * 4 * (size_t)height;
    VP8StatusCode status = WebPDecode(data, size, &config);
    WebPFreeDecBuffer(&config.output);
    return status;
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

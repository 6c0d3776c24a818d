#pragma once

#include <png.h>
#include <stdint.h>
#include <string.h>

// PNG_IMAGE_VERSION and the formats are macros with casts, which Swift cannot import. The simplified interface needs no setjmp.

static inline png_image curlew_png_image(void) {
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    return image;
}

static const uint32_t curlew_png_rgba = PNG_FORMAT_RGBA;
static const uint32_t curlew_png_linear = PNG_FORMAT_LINEAR_RGB_ALPHA;
static const uint32_t curlew_png_flag_alpha = PNG_FORMAT_FLAG_ALPHA;

static inline int curlew_png_failed(const png_image *_Nonnull image) { return PNG_IMAGE_FAILED(*image); }

static inline const char *_Nonnull curlew_png_message(const png_image *_Nonnull image) { return image->message; }

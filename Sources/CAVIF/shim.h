#pragma once

#include <string.h>

#include <avif/avif.h>

// How a picture is mirrored: 0 from top to bottom, 1 from left to right. The member has another name since 1.0.
static inline int curlew_avif_mirror(const avifImage *_Nonnull image) {
#if AVIF_VERSION_MAJOR >= 1
    return image->imir.axis;
#else
    return image->imir.mode;
#endif
}

// The part of the image that is shown, as its clean aperture says (ISO/IEC 14496-12 §12.1.4). 1 if it has one, -1 if that makes no sense.
static inline int curlew_avif_crop(const avifImage *_Nonnull image, avifCropRect *_Nonnull part) {
    if (!(image->transformFlags & AVIF_TRANSFORM_CLAP)) return 0;
    avifDiagnostics diagnostics;
    memset(&diagnostics, 0, sizeof diagnostics);
    return avifCropRectConvertCleanApertureBox(
               part, &image->clap, image->width, image->height, image->yuvFormat, &diagnostics)
        ? 1
        : -1;
}

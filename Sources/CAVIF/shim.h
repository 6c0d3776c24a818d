#pragma once

#include <avif/avif.h>

// How a picture is mirrored: 0 from top to bottom, 1 from left to right. The member has another name since 1.0.
static inline int curlew_avif_mirror(const avifImage *_Nonnull image) {
#if AVIF_VERSION_MAJOR >= 1
    return image->imir.axis;
#else
    return image->imir.mode;
#endif
}

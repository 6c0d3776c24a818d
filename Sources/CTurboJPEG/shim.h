#pragma once

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>
#include <turbojpeg.h>

struct curlew_jpeg_errors {
    struct jpeg_error_mgr base;
    jmp_buf exit;
};

static inline void curlew_jpeg_fail(j_common_ptr decoder) {
    longjmp(((struct curlew_jpeg_errors *)decoder->err)->exit, 1);
}

// Of odd bytes, and of numbers in the header that have a known meaning, is warned without harm to the pixels.
static inline void curlew_jpeg_warn(j_common_ptr decoder, int level) {
    if (level >= 0) return;
    switch (decoder->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA: case JWRN_JFIF_MAJOR: case JWRN_ADOBE_XFORM: case JWRN_NOT_SEQUENTIAL: return;
    default: curlew_jpeg_fail(decoder);
    }
}

static inline void curlew_jpeg_ignore(j_common_ptr decoder) { (void)decoder; }

// Whether all pixels are there: whether it can be decoded without a warning that does harm. TurboJPEG keeps the first warning alone.
static inline int curlew_jpeg_is_whole(const unsigned char *_Nonnull bytes, unsigned long count) {
    struct jpeg_decompress_struct decoder;
    struct curlew_jpeg_errors errors;
    memset(&decoder, 0, sizeof decoder);
    decoder.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = curlew_jpeg_fail;
    errors.base.emit_message = curlew_jpeg_warn;
    errors.base.output_message = curlew_jpeg_ignore;
    // No frame of Swift's is left out: the jump ends in this function.
    if (setjmp(errors.exit)) {
        jpeg_destroy_decompress(&decoder);
        return 0;
    }
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, bytes, count);
    jpeg_read_header(&decoder, TRUE);
    decoder.out_color_space = decoder.jpeg_color_space;
    decoder.scale_num = 1;
    decoder.scale_denom = 8;
    jpeg_start_decompress(&decoder);
    JSAMPARRAY line = decoder.mem->alloc_sarray(
        (j_common_ptr)&decoder, JPOOL_IMAGE, decoder.output_width * (JDIMENSION)decoder.output_components, 1);
    while (decoder.output_scanline < decoder.output_height) jpeg_read_scanlines(&decoder, line, 1);
    jpeg_finish_decompress(&decoder);
    jpeg_destroy_decompress(&decoder);
    return 1;
}

#pragma once

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jerror.h>
#include <jpeglib.h>

#ifndef JCS_ALPHA_EXTENSIONS
#error "libjpeg-turbo is needed: other libraries of that name know no RGBA"
#endif

// libjpeg reports errors by a call that must not return. Each function below is where such a call jumps back to, so that no frame of Swift's is
// jumped over.
struct curlew_jpeg_errors {
    struct jpeg_error_mgr base;
    jmp_buf exit;
    // 1 if the end may be missing, and 1 if it is missing.
    int allows_end;
    int is_truncated;
    int has_too_many_scans;
    char message[JMSG_LENGTH_MAX];
};

struct curlew_jpeg_decoder {
    struct jpeg_decompress_struct base;
    struct curlew_jpeg_errors errors;
    struct jpeg_progress_mgr progress;
    int scan_limit;
};

static inline void curlew_jpeg_fail(j_common_ptr codec) {
    struct curlew_jpeg_errors *errors = (struct curlew_jpeg_errors *)codec->err;
    errors->base.format_message(codec, errors->message);
    longjmp(errors->exit, 1);
}

// Called for warnings, which are below zero, and for traces. libjpeg goes on after a warning, with pixels that it makes up for most of them.
static inline void curlew_jpeg_warn(j_common_ptr codec, int level) {
    if (level >= 0) return;
    switch (codec->err->msg_code) {
    // Odd bytes between segments, and numbers in the header whose meaning is known nevertheless.
    case JWRN_EXTRANEOUS_DATA: case JWRN_JFIF_MAJOR: case JWRN_ADOBE_XFORM: case JWRN_NOT_SEQUENTIAL: return;
    case JWRN_JPEG_EOF: case JWRN_HIT_MARKER:
        ((struct curlew_jpeg_errors *)codec->err)->is_truncated = 1;
        if (((struct curlew_jpeg_errors *)codec->err)->allows_end) return;
    }
    curlew_jpeg_fail(codec);
}

static inline void curlew_jpeg_be_silent(j_common_ptr codec) { (void)codec; }

static inline struct jpeg_error_mgr *_Nonnull curlew_jpeg_set_up(struct curlew_jpeg_errors *_Nonnull errors) {
    jpeg_std_error(&errors->base);
    errors->base.error_exit = curlew_jpeg_fail;
    errors->base.emit_message = curlew_jpeg_warn;
    errors->base.output_message = curlew_jpeg_be_silent;
    return &errors->base;
}

// Called for each row of blocks: a file of a few kilobytes can hold thousands of scans, each of which goes over all pixels.
static inline void curlew_jpeg_count_scans(j_common_ptr codec) {
    struct curlew_jpeg_decoder *decoder = (struct curlew_jpeg_decoder *)codec;
    if (decoder->base.input_scan_number <= decoder->scan_limit) return;
    decoder->errors.has_too_many_scans = 1;
    longjmp(decoder->errors.exit, 1);
}

// A decoder, or NULL if there is no memory for one. It is freed by curlew_jpeg_close.
static inline struct curlew_jpeg_decoder *_Nullable curlew_jpeg_open(void) {
    struct curlew_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return NULL;
    decoder->base.err = curlew_jpeg_set_up(&decoder->errors);
    if (setjmp(decoder->errors.exit)) {
        jpeg_destroy_decompress(&decoder->base);
        free(decoder);
        return NULL;
    }
    jpeg_create_decompress(&decoder->base);
    decoder->progress.progress_monitor = curlew_jpeg_count_scans;
    decoder->base.progress = &decoder->progress;
    return decoder;
}

static inline void curlew_jpeg_close(struct curlew_jpeg_decoder *_Nonnull decoder) {
    jpeg_destroy_decompress(&decoder->base);
    free(decoder);
}

static inline const char *_Nonnull curlew_jpeg_message(const struct curlew_jpeg_decoder *_Nonnull decoder) {
    return decoder->errors.message;
}

// Reads all that comes before the pixels, and keeps the segments of EXIF and of the colour profile. 1 if it could be read. The bytes have to stay
// until the decoder is closed.
static inline int curlew_jpeg_read_header(
    struct curlew_jpeg_decoder *_Nonnull decoder, const unsigned char *_Nonnull bytes, unsigned long count) {
    if (setjmp(decoder->errors.exit)) return 0;
    jpeg_mem_src(&decoder->base, bytes, count);
    jpeg_save_markers(&decoder->base, JPEG_APP0 + 1, 0xFFFF);
    // Of a profile, that it is one.
    jpeg_save_markers(&decoder->base, JPEG_APP0 + 2, 12);
    return jpeg_read_header(&decoder->base, TRUE) == JPEG_HEADER_OK;
}

// Decodes to an eighth, a quarter, a half or all of each side, into rows without gaps: RGBA, or inks for pictures of four inks. 1 if all pixels
// are there, or all that have come where the end may be missing.
static inline int curlew_jpeg_read_pixels(
    struct curlew_jpeg_decoder *_Nonnull decoder, unsigned divisor, int scan_limit, int allows_end,
    unsigned char *_Nonnull pixels, unsigned width, unsigned height) {
    struct jpeg_decompress_struct *base = &decoder->base;
    if (setjmp(decoder->errors.exit)) return 0;
    decoder->scan_limit = scan_limit;
    decoder->errors.allows_end = allows_end;
    base->scale_num = 1;
    base->scale_denom = divisor;
    base->out_color_space =
        base->jpeg_color_space == JCS_CMYK || base->jpeg_color_space == JCS_YCCK ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg_start_decompress(base);
    if (base->output_width != width || base->output_height != height) ERREXIT(base, JERR_BUFFER_SIZE);
    while (base->output_scanline < height) {
        JSAMPROW rows[16];
        unsigned count = 0;
        for (; count < 16 && base->output_scanline + count < height; count++)
            rows[count] = pixels + (size_t)(base->output_scanline + count) * width * 4;
        jpeg_read_scanlines(base, rows, count);
    }
    // Reads on to the end, or to where it should be.
    jpeg_finish_decompress(base);
    return 1;
}

// Writes RGBA, whose alpha is left out. Returns what has to be freed, or NULL and a message of JMSG_LENGTH_MAX bytes.
static inline unsigned char *_Nullable curlew_jpeg_write(
    const unsigned char *_Nonnull pixels, unsigned width, unsigned height, int quality, unsigned long *_Nonnull count,
    char *_Nonnull message) {
    struct jpeg_compress_struct encoder;
    struct curlew_jpeg_errors errors;
    // No file is longer, so that libjpeg makes no buffer of its own: of blocks of 16 x 16 pixels each has 384 samples, of which none takes more
    // than two bytes.
    unsigned long capacity = ((unsigned long)width + 15) / 16 * (((unsigned long)height + 15) / 16) * 768 + 4096;
    unsigned char *buffer = malloc(capacity), *output = buffer;
    message[0] = 0;
    if (!buffer) return NULL;
    *count = capacity;
    encoder.err = curlew_jpeg_set_up(&errors);
    errors.allows_end = errors.is_truncated = 0;
    if (setjmp(errors.exit)) {
        for (int index = 0; index < JMSG_LENGTH_MAX; index++) message[index] = errors.message[index];
        jpeg_destroy_compress(&encoder);
        free(buffer);
        return NULL;
    }
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &output, count);
    encoder.image_width = width;
    encoder.image_height = height;
    encoder.input_components = 4;
    encoder.in_color_space = JCS_EXT_RGBX;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, quality, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    while (encoder.next_scanline < height) {
        JSAMPROW row = (JSAMPROW)(pixels + (size_t)encoder.next_scanline * width * 4);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    if (output != buffer) free(buffer);
    return output;
}

// libFuzzer as a library: what its own `main` calls. `-sanitize=fuzzer` links it.

#ifndef CURLEW_LIBFUZZER_H
#define CURLEW_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

// AddressSanitizer's hooks (sanitizer/allocator_interface.h).
int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void *, size_t), void (*free_hook)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *pointer);

// The bytes that are allocated beyond those at the last reset, and the most of them. Swift makes no variables of a header's own.
static inline long *curlew_allocated(void) {
    static long bytes;
    return &bytes;
}

static inline long *curlew_allocated_peak(void) {
    static long bytes;
    return &bytes;
}

static inline void curlew_count_malloc(const volatile void *pointer, size_t size) {
    (void)pointer;
    long now = __atomic_add_fetch(curlew_allocated(), (long)size, __ATOMIC_RELAXED);
    long peak = __atomic_load_n(curlew_allocated_peak(), __ATOMIC_RELAXED);
    while (now > peak
           && !__atomic_compare_exchange_n(
               curlew_allocated_peak(), &peak, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static inline void curlew_count_free(const volatile void *pointer) {
    __atomic_sub_fetch(curlew_allocated(), (long)__sanitizer_get_allocated_size(pointer), __ATOMIC_RELAXED);
}

// Counts from zero.
static inline void curlew_reset_allocated(void) {
    static int is_installed;
    if (!is_installed) {
        is_installed = 1;
        __sanitizer_install_malloc_and_free_hooks(curlew_count_malloc, curlew_count_free);
    }
    __atomic_store_n(curlew_allocated(), 0, __ATOMIC_RELAXED);
    __atomic_store_n(curlew_allocated_peak(), 0, __ATOMIC_RELAXED);
}

static inline long curlew_get_allocated_peak(void) {
    return __atomic_load_n(curlew_allocated_peak(), __ATOMIC_RELAXED);
}

#endif

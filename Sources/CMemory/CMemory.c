#include "CMemory.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    // Sizes up to `fine_limit` are kept in steps of `step`, larger ones in four steps for each doubling.
    step = 16,
    fine_limit = 1024,
    fine_classes = fine_limit / step,
    fine_exponent = 10,
    size_limit = 512 << 10,
    coarse_classes = 4 * 9,
    classes = fine_classes + coarse_classes,
};

// The most that a thread keeps. What exceeds it goes back to malloc.
static const size_t kept_limit = 8 << 20;

// A freed block holds the next one of its class.
struct block {
    struct block *next;
};

struct cache {
    bool is_on;
    size_t kept;
    struct block *free[classes];
};

// Found without a call where this is part of a program.
static __thread struct cache cache __attribute__((tls_model("initial-exec")));

// The exponent of the largest power of two that is not above `size`.
static inline int exponent(size_t size) { return 63 - __builtin_clzll(size); }

// The class of the smallest size that has room for `size` bytes: 1…size_limit.
static inline int class_above(size_t size) {
    if (size <= fine_limit) return (int)((size + step - 1) / step) - 1;
    int doubling = exponent(size - 1);
    return fine_classes + 4 * (doubling - fine_exponent) + (int)((size - 1) >> (doubling - 2) & 3);
}

// The size of a class.
static inline size_t size_of_class(int class) {
    if (class < fine_classes) return (size_t)(class + 1) * step;
    int coarse = class - fine_classes;
    return (size_t)(coarse % 4 + 5) << (fine_exponent + coarse / 4 - 2);
}

// The class of the largest size that a block with `usable` bytes has room for; -1 if it is not kept.
static inline int class_below(size_t usable) {
    if (usable - step < fine_limit) return (int)(usable / step) - 1;
    if (usable < step || usable > size_limit + size_limit / 4) return -1;
    if (usable >= size_limit) return classes - 1;
    int class = class_above(usable);
    return size_of_class(class) == usable ? class : class - 1;
}

static void give_back(void) {
    for (int class = 0; class < classes; class++) {
        struct block *block = cache.free[class];
        cache.free[class] = NULL;
        while (block) {
            struct block *next = block->next;
            free(block);
            block = next;
        }
    }
    cache.kept = 0;
}

extern void __asan_init(void) __attribute__((weak));

void curlew_memory_begin(void) { cache.is_on = !&__asan_init; }

void curlew_memory_trim(void) { give_back(); }

void curlew_memory_end(void) {
    give_back();
    cache.is_on = false;
}

void *curlew_memory_allocate(size_t size) {
    struct cache *own = &cache;
    if (!own->is_on || size == 0 || size > size_limit) return malloc(size);
    int class = class_above(size);
    struct block *block = own->free[class];
    if (!block) return malloc(size_of_class(class));
    own->free[class] = block->next;
    own->kept -= size_of_class(class);
    return block;
}

void *curlew_memory_allocate_zeroed(size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || !cache.is_on || total == 0 || total > size_limit) {
        return calloc(count, size);
    }
    void *block = curlew_memory_allocate(total);
    return block ? memset(block, 0, total) : NULL;
}

void curlew_memory_release(void *block) {
    struct cache *own = &cache;
    if (!block || !own->is_on) return free(block);
    int class = class_below(malloc_usable_size(block));
    if (class < 0) return free(block);
    size_t size = size_of_class(class);
    if (own->kept + size > kept_limit) return free(block);
    struct block *first = block;
    first->next = own->free[class];
    own->free[class] = first;
    own->kept += size;
}

size_t curlew_memory_kept(void) { return cache.kept; }

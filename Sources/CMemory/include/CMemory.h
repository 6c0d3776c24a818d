// Memory for libcurl: malloc's, of which a thread that asks for it keeps what is freed there for its next allocations.
//
// libcurl allocates and frees some forty blocks for a small request, most of them of the same sizes each time, and before 8.7 a
// read buffer among them, whose pages malloc gives back to the kernel when it is large. Every block is malloc's own, so any
// thread may free it, and a program may mix these functions with malloc's.
#ifndef CURLEW_CMEMORY_H
#define CURLEW_CMEMORY_H

#include <stddef.h>

// The calling thread keeps blocks from now on. It does nothing under AddressSanitizer, which looks for uses after free.
void curlew_memory_begin(void);

// The calling thread gives all that it keeps back to malloc, and goes on keeping blocks.
void curlew_memory_trim(void);

// The calling thread gives all that it keeps back to malloc, and keeps nothing from now on.
void curlew_memory_end(void);

// malloc, calloc and free. `realloc` and `strdup` are those of the C library.
void *curlew_memory_allocate(size_t size);
void *curlew_memory_allocate_zeroed(size_t count, size_t size);
void curlew_memory_release(void *block);

// The bytes that the calling thread keeps.
size_t curlew_memory_kept(void);

#endif

// libFuzzer as a library: what its own `main` calls. `-sanitize=fuzzer` links it.

#ifndef CURLEW_LIBFUZZER_H
#define CURLEW_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

#endif

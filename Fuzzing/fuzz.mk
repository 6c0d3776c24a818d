# Fuzzing, included by the Makefile at the root of the package.
#
#   make fuzz [TARGETS="FuzzJSON FuzzURIs"] [FUZZ_SECONDS=300]
#   make fuzz-wire-sanitized [FUZZ_SECONDS=300]

FUZZING := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
FUZZ_SECONDS ?= 300
TARGETS ?=

SWIFT ?= swift
# GNU gold, Swift's default linker, fails on the sanitizers' symbols. A sanitized libcurl needs libFuzzer's symbols from
# the target.
FUZZ_BUILD = $(SWIFT) build --configuration release --package-path $(FUZZING) --scratch-path $(FUZZING)/.build \
	-Xswiftc -enable-testing -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld \
	-Xlinker --export-dynamic-symbol='__sanc*' -Xlinker --export-dynamic-symbol='__sanitizer_cov_*' $(SWIFTFLAGS)

.PHONY: fuzz fuzz-build fuzz-wire-sanitized

fuzz-build: setup
	$(FUZZ_BUILD)

fuzz: fuzz-build ## Runs the fuzz targets; TARGETS="FuzzJSON …", FUZZ_SECONDS=300
	$(FUZZING)/fuzz $(FUZZ_SECONDS) $(TARGETS)

fuzz-wire-sanitized: fuzz-build ## Runs FuzzWire over Debian's libcurl built with AddressSanitizer
	libcurl=$$($(FUZZING)/sanitized-libcurl) && LD_LIBRARY_PATH=$$libcurl $(FUZZING)/fuzz $(FUZZ_SECONDS) FuzzWire

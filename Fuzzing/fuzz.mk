# Fuzzing, included by the Makefile at the root of the package.
#
#   make fuzz [TARGETS="FuzzJSON FuzzURIs"] [FUZZ_SECONDS=300]

FUZZING := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
FUZZ_SECONDS ?= 300
TARGETS ?=

SWIFT ?= swift
# GNU gold, which Swift links with by default, breaks down over the sanitizers' symbols.
FUZZ_BUILD = $(SWIFT) build --configuration release --package-path $(FUZZING) --scratch-path $(FUZZING)/.build \
	-Xswiftc -enable-testing -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld $(SWIFTFLAGS)

.PHONY: fuzz fuzz-build

fuzz-build: setup
	$(FUZZ_BUILD)

fuzz: fuzz-build ## Runs the fuzz targets; TARGETS="FuzzJSON …", FUZZ_SECONDS=300
	$(FUZZING)/fuzz $(FUZZ_SECONDS) $(TARGETS)

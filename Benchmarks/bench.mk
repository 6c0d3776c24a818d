# Benchmarks, included by the Makefile at the root of the package.
#
#   make bench [ONLY=workload,…] [CLIENTS=raw,curlew,…] [ROUNDS=5] [QUICK=1] [BENCH_OUTPUT=file]
#   make bench-instructions [TOLERANCE=percent]
#   make bench-serialization [ROUNDS=5] [SERIALIZATION_OUTPUT=file]

BENCHMARKS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
BENCH_OUTPUT ?= $(BENCHMARKS)/bench.json
SERIALIZATION_OUTPUT ?= $(BENCHMARKS)/bench-serialization.json

SWIFT ?= swift
# The server that is measured against, the tool that makes its certificate, and what counts instructions.
BENCH_PACKAGES = nginx-light openssl python3 curl valgrind

BENCH_BUILD = $(SWIFT) build --configuration release --package-path $(BENCHMARKS) \
	--scratch-path $(BENCHMARKS)/.build $(SWIFTFLAGS) --product

.PHONY: bench bench-instructions bench-serialization bench-build-all bench-build-two bench-setup

bench-setup:
	@.ci/setup $(PACKAGES) $(BENCH_PACKAGES)

bench-build-two: bench-setup
	$(BENCH_BUILD) bench-server
	$(BENCH_BUILD) bench-raw
	$(BENCH_BUILD) bench-curlew

bench-build-all: bench-build-two
	$(BENCH_BUILD) bench-ahc
	$(BENCH_BUILD) bench-urlsession

bench: bench-build-all ## Measures Curlew against its peers; ONLY=workload, ROUNDS=n, QUICK=1
	$(BENCHMARKS)/bench --output $(BENCH_OUTPUT) \
		$(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick)

bench-instructions: bench-build-two ## Compares the instructions of a small GET with the baseline
	$(BENCHMARKS)/bench-instructions $(if $(TOLERANCE),--tolerance $(TOLERANCE))

bench-serialization: setup ## Measures the serializers against Foundation; ROUNDS=n
	$(BENCH_BUILD) bench-serialization
	$(BENCHMARKS)/.build/release/bench-serialization --output $(SERIALIZATION_OUTPUT) \
		$(if $(ROUNDS),--rounds $(ROUNDS))

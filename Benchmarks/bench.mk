# Benchmarks, to be included by the Makefile at the root of the package.
#
#   make bench [ONLY=workload,…] [CLIENTS=raw,curlew,…] [ROUNDS=5] [QUICK=1] [BENCH_OUTPUT=file]
#   make bench-instructions [TOLERANCE=percent]

BENCHMARKS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
BENCHMARKS_BUILD := $(BENCHMARKS)/.build
BENCH_OUTPUT ?= $(BENCHMARKS)/bench.json

.PHONY: bench bench-build bench-instructions

bench-build:
	swift build --configuration release --package-path $(BENCHMARKS) --scratch-path $(BENCHMARKS_BUILD)

bench: bench-build
	$(BENCHMARKS)/bench --programs $(BENCHMARKS_BUILD)/release --output $(BENCH_OUTPUT) \
		$(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick)

bench-instructions:
	swift build --configuration release --package-path $(BENCHMARKS) --scratch-path $(BENCHMARKS_BUILD) --product bench-raw
	swift build --configuration release --package-path $(BENCHMARKS) --scratch-path $(BENCHMARKS_BUILD) --product bench-curlew
	swift build --configuration release --package-path $(BENCHMARKS) --scratch-path $(BENCHMARKS_BUILD) --product bench-server
	$(BENCHMARKS)/bench-instructions --programs $(BENCHMARKS_BUILD)/release $(if $(TOLERANCE),--tolerance $(TOLERANCE))

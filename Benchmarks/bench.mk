# Benchmarks, included by the Makefile at the root of the package.
#
#   make bench [ONLY=workload,…] [CLIENTS=raw,curlew,…] [ROUNDS=5] [QUICK=1] [BENCH_OUTPUT=file]
#   make bench-instructions [TOLERANCE=percent] [RECORD=1]
#   make bench-cache [ROUNDS=5]
#   make bench-gateway [ROUNDS=3]
#   make bench-http3 [ROUNDS=3] [ONLY=…] [CLIENTS=…] [QUICK=1] [HTTP3_OUTPUT=file]
#   make bench-images [ROUNDS=3]
#   make bench-serialization [ROUNDS=5] [SERIALIZATION_OUTPUT=file]

BENCHMARKS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
BENCH_OUTPUT ?= $(BENCHMARKS)/bench.json
HTTP3_OUTPUT ?= $(BENCHMARKS)/bench-http3.json
SERIALIZATION_OUTPUT ?= $(BENCHMARKS)/bench-serialization.json

BENCH_PYTHON = $(abspath $(BENCHMARKS))/.build/python

SWIFT ?= swift
# The server of the measurements, the tool that makes its certificate, and the tool that counts instructions.
BENCH_PACKAGES = nginx-light openssl python3 curl valgrind
comma := ,
# The client, if CLIENTS contains it: other clients are neither installed nor built.
chosen = $(if $(CLIENTS),$(filter $(1),$(subst $(comma), ,$(CLIENTS))),$(1))

BENCH_BUILD = $(SWIFT) build --configuration release --package-path $(BENCHMARKS) \
	--scratch-path $(BENCHMARKS)/.build $(SWIFTFLAGS) --product

.PHONY: bench bench-instructions bench-cache bench-gateway bench-http3 bench-images bench-serialization bench-build-all bench-build-two bench-build-go bench-build-python bench-setup

bench-setup:
	@.ci/setup $(PACKAGES) $(BENCH_PACKAGES)

bench-build-two: bench-setup
	$(BENCH_BUILD) bench-server
	$(BENCH_BUILD) bench-raw
	$(BENCH_BUILD) bench-curlew

bench-build-go:
	@.ci/setup golang-go golang-github-gorilla-websocket-dev
	@command -v go >/dev/null || { echo "The client in Go needs the 'go' command: install Go, or leave it out, CLIENTS=raw,curlew,ahc" >&2; exit 1; }
	cd $(BENCHMARKS)/GoClient && GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off \
		go build -o $(abspath $(BENCHMARKS))/.build/release/bench-go .

# The client in Python is started by a program of the same name as the others'.
bench-build-python:
	@.ci/setup python3-venv
	@test -x $(BENCH_PYTHON)/bin/pip || python3 -m venv $(BENCH_PYTHON)
	@$(BENCH_PYTHON)/bin/pip install -q --disable-pip-version-check -r .ci/websocket-servers.txt
	@printf '#!/bin/sh\nexec %s %s "$$@"\n' $(BENCH_PYTHON)/bin/python $(abspath $(BENCHMARKS))/PythonClient/client.py \
		> $(BENCHMARKS)/.build/release/bench-python
	@chmod +x $(BENCHMARKS)/.build/release/bench-python

bench-build-all: bench-build-two $(if $(call chosen,go),bench-build-go) $(if $(call chosen,python),bench-build-python)
	$(if $(call chosen,ahc),$(BENCH_BUILD) bench-ahc)
	$(if $(call chosen,urlsession),$(BENCH_BUILD) bench-urlsession)

bench: bench-build-all ## Measures Curlew against its peers; ONLY=workload, ROUNDS=n, QUICK=1
	$(BENCHMARKS)/bench --output $(BENCH_OUTPUT) \
		$(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS)) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick)

bench-instructions: bench-build-two ## Compares the instructions of a small GET and of JSON with the baseline; RECORD=1 makes a new one
	$(BENCH_BUILD) bench-serialization
	$(BENCHMARKS)/bench-instructions $(if $(TOLERANCE),--tolerance $(TOLERANCE)) $(if $(RECORD),--record)

bench-cache: bench-setup ## Measures hits and misses of a cache; ROUNDS=n
	$(BENCH_BUILD) bench-server
	$(BENCH_BUILD) bench-cache
	$(BENCHMARKS)/bench-cache $(if $(ROUNDS),--rounds $(ROUNDS))

bench-gateway: bench-setup ## Measures gateways by wrk: Curlew's, nginx's, async-http-client's; ROUNDS=n
	@.ci/setup wrk
	$(BENCH_BUILD) bench-gateway-server
	$(BENCHMARKS)/bench-gateway $(if $(ROUNDS),--rounds $(ROUNDS))

bench-http3: bench-setup ## Measures HTTP/3 and HTTP/2 beside libcurl alone and its tool; ROUNDS=n
	$(BENCH_BUILD) bench-raw
	$(BENCH_BUILD) bench-curlew
	$(BENCHMARKS)/bench --http3 --output $(HTTP3_OUTPUT) --rounds $(or $(ROUNDS),3) \
		$(if $(ONLY),--only $(ONLY)) $(if $(CLIENTS),--clients $(CLIENTS)) $(if $(QUICK),--quick)

bench-images: bench-setup ## Measures thumbnails beside vipsthumbnail and Pillow; ROUNDS=n
	@.ci/setup libvips-tools python3-pil
	$(BENCH_BUILD) bench-images
	$(BENCHMARKS)/bench-images $(if $(ROUNDS),--rounds $(ROUNDS))

bench-serialization: setup ## Measures the serializers against Foundation; ROUNDS=n
	$(BENCH_BUILD) bench-serialization
	$(BENCHMARKS)/.build/release/bench-serialization --output $(SERIALIZATION_OUTPUT) \
		$(if $(ROUNDS),--rounds $(ROUNDS))

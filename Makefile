# The habits of this project. `make help` lists them.

SWIFT ?= swift
# What `swift test` is to run: a regular expression over suites and tests. All of them by default.
FILTER ?=
# What the demo fetches instead of its embedded server.
URL ?=
# Arguments for every `swift build`, `swift run` and `swift test`, such as `--jobs 2`.
SWIFTFLAGS ?=

PACKAGES = libcurl4-openssl-dev libssl-dev pkg-config zlib1g-dev libbrotli-dev libzstd-dev libpsl-dev libidn2-dev libsqlite3-dev libpq-dev postgresql iproute2 libpng-dev libjpeg62-turbo-dev libwebp-dev libgif-dev libtiff-dev libavif-dev

# A warning in our own modules is an error; those of dependencies are not ours to mend. Package.swift reads this.
export CURLEW_WARNINGS_AS_ERRORS = 1

# What tests and tools of our own need besides the default traits: the test kit, XML and storage.
TRAITS = --enable-all-traits
# One test at a time in a process: some look at the whole of it for leaks, and some measure that nothing comes too late.
# Those of the library take several processes; TEST_JOBS=1 makes it one.
TEST = SWIFT='$(SWIFT)' FILTER='$(FILTER)' .ci/test $(TRAITS) $(SWIFTFLAGS)
TEST_EXAMPLES = $(SWIFT) test --no-parallel --disable-xctest $(SWIFTFLAGS) $(if $(FILTER),--filter '$(FILTER)') --package-path Examples
# The condition chooses locks that ThreadSanitizer can follow (Sources/Curlew/Support/Lock.swift).
SANITIZE_THREAD = --sanitize=thread -Xswiftc -DCURLEW_THREAD_SANITIZER --scratch-path .build-thread
TSAN_OPTIONS = halt_on_error=0:second_deadlock_stack=1:log_path=$(CURDIR)/.build-thread/reports/thread:suppressions=$(CURDIR)/.ci/thread-sanitizer.supp
SOURCES = $(wildcard Package.swift Sources Tests Examples Benchmarks Fuzzing)
# Build folders of the nested packages hold the sources of others.
SWIFT_FILES = find $(SOURCES) -name '.build*' -prune -o -name '*.swift' -type f -print0

.DEFAULT_GOAL := help
.PHONY: help setup demo install gallery examples test test-examples test-traits test-postgres test-uploads test-websockets test-gallery test-early-answers test-crash simulate soak test-large test-newer-libcurl test-debian13 test-newest test-thread test-address ci lint format api-list check-api docs bench clean

help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## Installs the missing Debian packages
	@.ci/setup $(PACKAGES)

# Not in release mode: that is twice the work to build, for hardly more throughput.
demo: setup ## Real HTTP over real sockets; URL=https://… fetches that instead
	$(SWIFT) run $(SWIFTFLAGS) --package-path Examples curlew $${URL:+--timing "$$URL"} $(if $(URL),,demo)

# Where `make install` puts the tool; DESTDIR stands before it in a package.
PREFIX ?= /usr/local
# The Swift runtime becomes a part of the program, which then needs no toolchain.
INSTALL_FLAGS ?= -c release --static-swift-stdlib
INSTALL_BUILD = --product curlew $(INSTALL_FLAGS) $(SWIFTFLAGS) --package-path Examples

install: setup ## Installs the command line tool, its manual and its completions below PREFIX=/usr/local
	$(SWIFT) build $(INSTALL_BUILD)
	@.ci/install "$$($(SWIFT) build --show-bin-path $(INSTALL_BUILD))/curlew" '$(DESTDIR)$(PREFIX)'

gallery: setup ## Runs the example with a page of thumbnails, on port 8080
	$(SWIFT) run $(SWIFTFLAGS) --package-path Examples gallery

examples: setup ## Builds the examples
	$(SWIFT) build $(SWIFTFLAGS) --package-path Examples

test: setup ## Runs the tests; FILTER=… chooses
	$(TEST)

test-examples: setup ## Builds the examples and runs their tests
	$(TEST_EXAMPLES)

# They are among the tests of `make test`, where they are skipped on a machine without a server.
test-postgres: setup ## Runs the tests of queues in PostgreSQL
	CURLEW_TEST_POSTGRES=1 $(MAKE) --no-print-directory test FILTER='PostgresFaultTests|TransferStoreTests'

# They come from PyPI, into a folder of their own; without them these tests are skipped.
UPLOAD_SERVERS = $(CURDIR)/.build/upload-servers

test-uploads: setup ## Uploads to servers that others wrote: tuspyserver and moto, from PyPI
	@.ci/setup python3-venv
	@test -x $(UPLOAD_SERVERS)/bin/pip || python3 -m venv $(UPLOAD_SERVERS)
	@$(UPLOAD_SERVERS)/bin/pip install -q --disable-pip-version-check -r .ci/upload-servers.txt
	CURLEW_UPLOAD_SERVERS=$(UPLOAD_SERVERS)/bin/python $(TEST_EXAMPLES) --filter UploadServerTests

# The same for WebSockets.
WEBSOCKET_SERVERS = $(CURDIR)/.build/websocket-servers

test-websockets: setup ## Opens WebSockets to servers that others wrote: websockets and wsproto, from PyPI, and nginx if it is there
	@.ci/setup python3-venv
	@test -x $(WEBSOCKET_SERVERS)/bin/pip || python3 -m venv $(WEBSOCKET_SERVERS)
	@$(WEBSOCKET_SERVERS)/bin/pip install -q --disable-pip-version-check -r .ci/websocket-servers.txt
	CURLEW_WEBSOCKET_PYTHON=$(WEBSOCKET_SERVERS)/bin/python $(MAKE) --no-print-directory test FILTER='LiveServerTests|WsprotoTests'

test-gallery: setup ## Looks at the page of the gallery in headless Chromium
	@.ci/setup chromium
	CURLEW_CHROMIUM=1 $(TEST_EXAMPLES) --filter GalleryTests

# Builds of their own, in .build-traits: what a trait takes out must not be missed.
test-traits: setup ## Builds and tests without the traits, the headers of their libraries hidden
	@.ci/traits $(SWIFTFLAGS)

test-large: setup ## Downloads and uploads 5 GiB in 64 MB of memory
	CURLEW_TEST_LARGE=1 $(TEST_EXAMPLES) --filter LargeFileTests

# The same build as `test`; one test finds out whether that libcurl was really loaded.
test-newer-libcurl: setup ## Runs the tests with the libcurl of Debian 13
	.ci/newer-libcurl env $(subst FILTER='$(FILTER)',FILTER='$(if $(FILTER),($(FILTER))|LibraryVersionTests)',$(TEST))

# The programs' own loader and libraries: those of that release, unpacked beside the system. One test checks the version of libcurl.
test-debian13: setup ## Runs the tests with the libraries of Debian 13
	RUNNER='.ci/userland trixie' $(subst FILTER='$(FILTER)',FILTER='$(if $(FILTER),($(FILTER))|LibraryVersionTests)',$(TEST))

test-newest: setup ## Runs the tests with the libraries of Debian 13 and the newest libcurl of its backports
	RUNNER='.ci/userland trixie-backports' $(subst FILTER='$(FILTER)',FILTER='$(if $(FILTER),($(FILTER))|LibraryVersionTests)',$(TEST))

# What it finds is shown last, so that a log that is cut off still says it. In one process: a sanitizer makes tests so slow
# that two of them at a time run into the short timeouts that some have.
test-thread: setup ## Runs the tests under ThreadSanitizer
	@rm -rf .build-thread/reports && mkdir -p .build-thread/reports
	TSAN_OPTIONS="$${TSAN_OPTIONS:-$(TSAN_OPTIONS)}" TEST_JOBS=$${TEST_JOBS:-1} $(TEST) $(SANITIZE_THREAD) \
	    || { cat .build-thread/reports/* >&2; exit 1; }

# All 576 combinations; `make test` has those in which each combination of three properties occurs.
test-early-answers: setup ## Tests every HTTP/2 response that comes before the end of its upload
	CURLEW_TEST_EARLY_ANSWERS=all $(MAKE) --no-print-directory test FILTER=EarlyAnswerTests

test-crash: setup ## Kills processes that download, upload, use a cache or share a queue, at random moments; CRASH_SEED=… repeats them
	$(SWIFT) build --product crash-campaign $(TRAITS) $(SWIFTFLAGS)
	timeout 400 $$($(SWIFT) build --show-bin-path $(TRAITS) $(SWIFTFLAGS))/crash-campaign $(CRASH_SEED)

# In the time of a simulation: it takes a second or two, and brings the same picture wherever it runs.
simulate: setup ## Runs the simulation of the article "Load and failure", and draws its picture
	$(SWIFT) run $(TRAITS) $(SWIFTFLAGS) simulate DocC/Curlew.docc/Resources/load-and-failure.svg

SECONDS ?= 60
SOAK_SEED ?=
# One of the modes in Tests/Soak/SoakMode.swift; all of them share the time by default.
SOAK_MODE ?=

soak: setup ## Keeps a session busy with failing servers; SECONDS=60, SOAK_SEED=… repeats, SOAK_MODE=… chooses, LD_LIBRARY_PATH=… has another libcurl
	$(SWIFT) build --product soak $(TRAITS) $(SWIFTFLAGS)
	timeout $$(($(SECONDS) + 120)) \
	    $$($(SWIFT) build --show-bin-path $(TRAITS) $(SWIFTFLAGS))/soak $(SECONDS) $(SOAK_SEED) $(SOAK_MODE)

# LeakSanitizer needs ptrace, which containers often refuse, and then fails the run; leaks have tests of their own.
# What is freed is kept only shortly: some tests measure the memory of the process.
test-address: setup ## Runs the tests under AddressSanitizer
	ASAN_OPTIONS="$${ASAN_OPTIONS:-detect_leaks=0:quarantine_size_mb=8}" TEST_JOBS=$${TEST_JOBS:-1} $(TEST) --sanitize=address --scratch-path .build-address

ci: ## Does what has to pass before a merge
	@.ci/run

lint: ## Checks the style of every Swift file
	@$(SWIFT_FILES) | xargs -0 $(SWIFT) format lint --strict --parallel

format: ## Puts every Swift file into that style
	@$(SWIFT_FILES) | xargs -0 $(SWIFT) format --in-place --parallel

# The lists show a change of the API in a diff. They are made from the modules that the last `make test` or build left.
api-list: setup ## Writes the lists of public declarations in API/ anew
	$(SWIFT) build $(TRAITS) $(SWIFTFLAGS)
	@.ci/api-list

check-api: ## Compares the lists in API/ with the modules that were built last
	@.ci/api-list --check

docs: setup ## Builds the documentation into .build/docs; a warning is an error
	@.ci/docs

-include Benchmarks/bench.mk
include Fuzzing/fuzz.mk

ifeq ($(wildcard Benchmarks/bench.mk),)
bench: ## Runs the benchmarks
	@echo "There are no benchmarks here yet." >&2; exit 1
endif

clean: ## Removes everything that was built
	rm -rf .build .build-thread .build-address .build-newer-libcurl .build-userland .build-traits Examples/.build Benchmarks/.build Fuzzing/.build

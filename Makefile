# The tasks of this project. `make help` lists them.

SWIFT ?= swift
# The tests that `swift test` runs: a regular expression over suites and tests. All tests by default.
FILTER ?=
# The URL that the demo fetches. By default the demo uses its embedded server.
URL ?=
# Arguments for every `swift build`, `swift run` and `swift test`, such as `--jobs 2`.
SWIFTFLAGS ?=

PACKAGES = libcurl4-openssl-dev libssl-dev pkg-config zlib1g-dev libbrotli-dev libzstd-dev libpsl-dev libidn2-dev libsqlite3-dev libpq-dev postgresql iproute2 libpng-dev libjpeg62-turbo-dev libwebp-dev libgif-dev libtiff-dev libavif-dev

# A warning in this package is an error. Warnings of dependencies are not, as they cannot be corrected here. Package.swift reads the variable.
export CURLEW_WARNINGS_AS_ERRORS = 1

# The project's tests and tools need more than the default traits: the test kit, XML, storage and the others.
TRAITS = --enable-all-traits
# A process runs one test at a time: some tests check the process for leaks, and some measure times.
# The tests of the library run in several processes; TEST_JOBS=1 uses one.
TEST = SWIFT='$(SWIFT)' FILTER='$(FILTER)' .ci/test $(TRAITS) $(SWIFTFLAGS)
TEST_EXAMPLES = $(SWIFT) test --no-parallel --disable-xctest $(SWIFTFLAGS) $(if $(FILTER),--filter '$(FILTER)') --package-path Examples
# The condition chooses locks that ThreadSanitizer can follow (Sources/CurlewSupport/Lock.swift).
SANITIZE_THREAD = --sanitize=thread -Xswiftc -DCURLEW_THREAD_SANITIZER --scratch-path .build-thread
TSAN_OPTIONS = halt_on_error=0:second_deadlock_stack=1:log_path=$(CURDIR)/.build-thread/reports/thread:suppressions=$(CURDIR)/.ci/thread-sanitizer.supp
SOURCES = $(wildcard Package.swift Sources Tests Examples Tools Benchmarks Fuzzing)
# Build folders of the nested packages contain the sources of dependencies.
SWIFT_FILES = find $(SOURCES) -name '.build*' -prune -o -name '*.swift' -type f -print0

.DEFAULT_GOAL := help
.PHONY: help setup demo install gallery examples test test-unit test-examples test-json-alone test-release test-traits test-postgres test-uploads test-websockets test-http3 test-aws test-http-state test-x509-limbo test-cache-tests test-web-platform test-gallery test-early-answers tools test-crash simulate soak test-large test-debian13 test-newest test-thread test-address ci lint format api-list check-api check-tools api-check docs bench clean

help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## Installs the missing Debian packages
	@.ci/setup $(PACKAGES)

# A debug build: a release build takes twice as long, and is hardly faster. The demonstration is a program of its own,
# because the command line tool takes twice as long to build; `curlew demo` shows the same.
demo: setup ## Shows HTTP over real sockets, with an embedded server; URL=https://… fetches that URL
	$(SWIFT) run $(SWIFTFLAGS) --package-path Examples $(if $(URL),curlew --timing "$$URL",curlew-demo)

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

# Tests that take many seconds of a processor run with `make test` alone.
LONG_UNIT_TESTS = AutobahnCompressionTests|FrameFuzzingTests|RandomInputTests|CharsetTests/time
test-unit: setup ## Runs the tests that need no server, in parallel, and builds no others; FILTER=… chooses
	CURLEW_TESTS=unit SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build --product curlewPackageTests $(TRAITS) $(SWIFTFLAGS)
	"$$($(SWIFT) build --show-bin-path $(TRAITS) $(SWIFTFLAGS))/curlewPackageTests.xctest" --testing-library swift-testing $(if $(FILTER),--filter '$(FILTER)',--skip '$(LONG_UNIT_TESTS)')

test-examples: setup ## Builds the examples and runs their tests
	$(TEST_EXAMPLES)

# `make test` runs these tests too, and skips them on a machine without a server.
test-postgres: setup ## Runs the tests of queues in PostgreSQL
	CURLEW_TEST_POSTGRES=1 $(MAKE) --no-print-directory test FILTER='Postgres|TransferStore'

# The servers are installed from PyPI into a separate folder. Without them these tests are skipped.
UPLOAD_SERVERS = $(CURDIR)/.build/upload-servers

test-uploads: setup ## Uploads to independent servers: tuspyserver and moto, from PyPI
	@.ci/setup python3-venv
	@test -x $(UPLOAD_SERVERS)/bin/pip || python3 -m venv $(UPLOAD_SERVERS)
	@$(UPLOAD_SERVERS)/bin/pip install -q --disable-pip-version-check -r .ci/upload-servers.txt
	CURLEW_UPLOAD_SERVERS=$(UPLOAD_SERVERS)/bin/python $(TEST_EXAMPLES) --filter UploadServerTests

# Independent servers of WebSockets, from PyPI.
WEBSOCKET_SERVERS = $(CURDIR)/.build/websocket-servers

test-websockets: setup ## Opens WebSockets to independent servers: websockets and wsproto, from PyPI, and nginx if it is installed
	@.ci/setup python3-venv
	@test -x $(WEBSOCKET_SERVERS)/bin/pip || python3 -m venv $(WEBSOCKET_SERVERS)
	@$(WEBSOCKET_SERVERS)/bin/pip install -q --disable-pip-version-check -r .ci/websocket-servers.txt
	CURLEW_WEBSOCKET_PYTHON=$(WEBSOCKET_SERVERS)/bin/python $(MAKE) --no-print-directory test FILTER='LiveServerTests|WsprotoTests'

# HTTP/3 needs the libcurl of Debian 13's backports.
HTTP3_SERVER = $(CURDIR)/.build/http3-server

test-http3: setup ## Uses HTTP/3 with aioquic, from PyPI, and Debian 13's nginx, and the newest libcurl of its backports
	@.ci/setup python3-venv
	@test -x $(HTTP3_SERVER)/bin/pip || python3 -m venv $(HTTP3_SERVER)
	@$(HTTP3_SERVER)/bin/pip install -q --disable-pip-version-check -r .ci/http3-server.txt
	nginx=$$(.ci/userland trixie-nginx) && CURLEW_NGINX=$$nginx CURLEW_HTTP3_PYTHON=$(HTTP3_SERVER)/bin/python \
	    $(MAKE) --no-print-directory test-newest FILTER='HTTP3'

AWS_SERVER = $(CURDIR)/.build/aws-server

test-aws: setup ## Stores objects on an independent S3 server that verifies signatures: moto, from PyPI
	@.ci/setup python3-venv
	@test -x $(AWS_SERVER)/bin/pip || python3 -m venv $(AWS_SERVER)
	@$(AWS_SERVER)/bin/pip install -q --disable-pip-version-check -r .ci/aws-server.txt
	CURLEW_MOTO_PYTHON=$(AWS_SERVER)/bin/python $(MAKE) --no-print-directory test FILTER=MotoTests

# The cases are fetched at a fixed commit, once.
HTTP_STATE = $(CURDIR)/.build/http-state
HTTP_STATE_URL ?= https://github.com/abarth/http-state

test-http-state: setup ## Tests cookies with the cases of http-state, from GitHub
	@test -d $(HTTP_STATE) || git clone --quiet $(HTTP_STATE_URL) $(HTTP_STATE)
	@git -C $(HTTP_STATE) checkout --force --quiet 155e45c6168e6de2eb727193010fd12e3c789185
	CURLEW_HTTP_STATE=$(HTTP_STATE)/tests/data/parser.json $(TEST_EXAMPLES) --filter CookieSuiteTests

# The suite's file of cases has 40 MB, so only the newest commit is fetched.
X509_LIMBO = $(CURDIR)/.build/x509-limbo
X509_LIMBO_URL ?= https://github.com/C2SP/x509-limbo
X509_LIMBO_COMMIT = 8a2e6f41023b1716dc16fe63335e4bb972e4c3f6
test-x509-limbo: setup ## Validates certificates with the cases of x509-limbo, from GitHub
	@git -C $(X509_LIMBO) cat-file -e $(X509_LIMBO_COMMIT) 2>/dev/null || { git init --quiet $(X509_LIMBO) && \
	    git -C $(X509_LIMBO) fetch --quiet --depth 1 $(X509_LIMBO_URL) $(X509_LIMBO_COMMIT); }
	@git -C $(X509_LIMBO) checkout --force --quiet $(X509_LIMBO_COMMIT)
	CURLEW_X509_LIMBO=$(X509_LIMBO)/limbo.json $(subst FILTER='$(FILTER)',FILTER=X509LimboTests,$(TEST))

CACHE_TESTS = $(CURDIR)/.build/cache-tests
CACHE_TESTS_URL ?= https://github.com/http-tests/cache-tests
test-cache-tests: setup ## Runs the suite of cache-tests.fyi, from GitHub, with Node.js
	@.ci/setup nodejs
	@test -d $(CACHE_TESTS) || git clone --quiet $(CACHE_TESTS_URL) $(CACHE_TESTS)
	@git -C $(CACHE_TESTS) checkout --force --quiet b55b8bda3dbb8c927c04e85bd8d496a8caa3e4ba
	$(SWIFT) build $(SWIFTFLAGS) --package-path Examples --product curlew-probe
	for mode in single-user shared; do \
	    node Examples/Suites/cache-tests.mjs $(CACHE_TESTS) \
	        $$($(SWIFT) build $(SWIFTFLAGS) --package-path Examples --show-bin-path)/curlew-probe $$mode || exit 1; done

# The tests come from the copy in undici, which is small. They are fetched at a fixed commit, once.
WEB_PLATFORM_TESTS = $(CURDIR)/.build/web-platform-tests
WEB_PLATFORM_TESTS_URL ?= https://github.com/nodejs/undici
WEB_PLATFORM_TESTS_COMMIT = 2f6cc66c57aa4303b1574dde47e028495d5678af
WEB_PLATFORM_SERVER = $(CURDIR)/.build/web-platform-server
test-web-platform: setup ## Runs groups of the web platform tests, from GitHub, with Node.js and their server, from PyPI
	@.ci/setup nodejs python3-venv
	@git -C $(WEB_PLATFORM_TESTS) cat-file -e $(WEB_PLATFORM_TESTS_COMMIT) 2>/dev/null || \
	    { git init --quiet $(WEB_PLATFORM_TESTS) && git -C $(WEB_PLATFORM_TESTS) \
	    fetch --quiet --depth 1 $(WEB_PLATFORM_TESTS_URL) $(WEB_PLATFORM_TESTS_COMMIT); }
	@git -C $(WEB_PLATFORM_TESTS) checkout --force --quiet $(WEB_PLATFORM_TESTS_COMMIT)
	@test -x $(WEB_PLATFORM_SERVER)/bin/pip || python3 -m venv $(WEB_PLATFORM_SERVER)
	@$(WEB_PLATFORM_SERVER)/bin/pip install -q --disable-pip-version-check -r .ci/web-platform-server.txt
	CURLEW_WEB_PLATFORM_TESTS=$(WEB_PLATFORM_TESTS)/test/fixtures/wpt $(TEST_EXAMPLES) --filter MediaTypeSuiteTests
	node Examples/Suites/web-platform-tests.mjs $(WEB_PLATFORM_TESTS)/test/fixtures/wpt $(WEB_PLATFORM_SERVER)/bin/python \
	    $$($(SWIFT) build $(SWIFTFLAGS) --package-path Examples --show-bin-path)/curlew-probe

test-gallery: setup ## Tests the page of the gallery in headless Chromium
	@.ci/setup chromium
	CURLEW_CHROMIUM=1 $(TEST_EXAMPLES) --filter GalleryTests

# The package depends on a clone of HEAD. Its build folder is .build-json-alone.
test-json-alone: setup ## Builds a package that needs the product CurlewJSON alone, the headers of libraries hidden
	@.ci/json-alone $(SWIFTFLAGS)

# The package depends on a clone of HEAD that has the tag of the version. Its build folder is .build-from-version.
test-release: setup ## Builds a package that depends on a tagged clone with the version of the README
	@.ci/from-version $(SWIFTFLAGS)

# Separate builds in .build-traits: without a trait, the code must not need the libraries of the trait.
test-traits: setup ## Builds and tests without the traits, the headers of their libraries hidden
	@.ci/traits $(SWIFTFLAGS)

test-large: setup ## Downloads and uploads 5 GiB in 64 MB of memory
	CURLEW_TEST_LARGE=1 $(TEST_EXAMPLES) --filter LargeFileTests

# The same build as `test`. The programs use the loader and libraries of that release, unpacked beside the system. One
# test checks the version of libcurl.
test-debian13: setup ## Runs the tests with the libraries of Debian 13
	RUNNER='.ci/userland trixie' $(subst FILTER='$(FILTER)',FILTER='$(if $(FILTER),($(FILTER))|LibraryVersionTests)',$(TEST))

test-newest: setup ## Runs the tests with the libraries of Debian 13 and the newest libcurl of its backports
	RUNNER='.ci/userland trixie-backports' $(subst FILTER='$(FILTER)',FILTER='$(if $(FILTER),($(FILTER))|LibraryVersionTests)',$(TEST))

# The findings are shown last, so that a truncated log contains them. The tests run in one process: a sanitizer makes
# tests slow, and two of them at a time would exceed the short timeouts of some tests.
test-thread: setup ## Runs the tests under ThreadSanitizer
	@rm -rf .build-thread/reports && mkdir -p .build-thread/reports
	TSAN_OPTIONS="$${TSAN_OPTIONS:-$(TSAN_OPTIONS)}" TEST_JOBS=$${TEST_JOBS:-1} $(TEST) $(SANITIZE_THREAD) \
	    || { cat .build-thread/reports/* >&2; exit 1; }

# All 576 combinations; `make test` runs enough of them to have each combination of three properties.
test-early-answers: setup ## Tests every HTTP/2 response that comes before the end of its upload
	CURLEW_TEST_EARLY_ANSWERS=all RUNNER='$(RUNNER)' $(MAKE) --no-print-directory test FILTER=EarlyAnswerTests

TOOLS = $(SWIFTFLAGS) --package-path Tools

tools: setup ## Builds the programs in Tools/
	$(SWIFT) build $(TOOLS)

check-tools: setup ## Checks the programs in Tools/ against the modules that were built last
	@.ci/check-tools

test-crash: setup ## Kills processes that download, upload, use a cache or share a queue, at random moments; CRASH_SEED=… repeats them
	$(SWIFT) build --product crash-campaign $(TOOLS)
	timeout 400 $$($(SWIFT) build --show-bin-path $(TOOLS))/crash-campaign $(CRASH_SEED)

# The clock is simulated: a run takes a second or two, and draws the same picture on every machine.
simulate: setup ## Draws the picture of the article "Load and failure" by its simulation
	CURLEW_DRAW=1 $(MAKE) --no-print-directory test FILTER=LoadSimulationTests

# A command that starts the program, such as `.ci/userland trixie`.
RUNNER ?=
SECONDS ?= 60
SOAK_SEED ?=
# One of the modes in Tools/Sources/Soak/SoakMode.swift; by default all modes share the time.
SOAK_MODE ?=

soak: setup ## Keeps a session busy with failing servers; SECONDS=60, SOAK_SEED=… repeats, SOAK_MODE=… chooses, RUNNER='.ci/userland trixie' uses Debian 13
	$(SWIFT) build --product soak $(TOOLS)
	timeout $$(($(SECONDS) + 120)) \
	    $(RUNNER) $$($(SWIFT) build --show-bin-path $(TOOLS))/soak $(SECONDS) $(SOAK_SEED) $(SOAK_MODE)

# LeakSanitizer is off: it needs ptrace, which containers often forbid, and would then fail the run. Other tests find leaks.
# The quarantine of freed memory is small, because some tests measure the memory of the process.
test-address: setup ## Runs the tests under AddressSanitizer
	ASAN_OPTIONS="$${ASAN_OPTIONS:-detect_leaks=0:quarantine_size_mb=8}" TEST_JOBS=$${TEST_JOBS:-1} $(TEST) --sanitize=address --scratch-path .build-address

ci: ## Runs the checks that must pass before a merge
	@.ci/run

lint: ## Checks the style of every Swift file
	@$(SWIFT_FILES) | xargs -0 $(SWIFT) format lint --strict --parallel

format: ## Formats every Swift file
	@$(SWIFT_FILES) | xargs -0 $(SWIFT) format --in-place --parallel

# The lists show a change of the API in a diff. They are made from the modules of the last `make test` or build.
api-list: setup ## Writes the lists of public declarations in API/
	$(SWIFT) build $(TRAITS) $(SWIFTFLAGS)
	@.ci/api-list

check-api: ## Compares the lists in API/ with the modules that were built last
	@.ci/api-list --check

# The version to compare with: by default the last tag. The check builds both versions in .build-api.
BASE ?=

api-check: setup ## Diagnoses changes since the version BASE=… that break the API, with every trait
	@.ci/api-check $(BASE)

docs: setup ## Builds the documentation into .build/docs; a warning is an error
	@.ci/docs

-include Benchmarks/bench.mk
include Fuzzing/fuzz.mk

clean: ## Removes all build folders
	rm -rf .build .build-api .build-from-version .build-json-alone .build-thread .build-address .build-userland .build-traits Examples/.build Tools/.build Benchmarks/.build Fuzzing/.build Fuzzing/.build-libcurl

"""What is measured: which request, how often, how many in flight, by whom."""

from dataclasses import dataclass

CLIENTS = ("raw", "curlew", "ahc", "go", "urlsession", "python", "curl")

# URLSession and Python make a tenth of the requests of the others a second; a tenth of the requests is as good a sample.
SHARES = {"urlsession": 0.1, "python": 0.1}

# swift-corelibs-foundation has no way to name the certificates to trust.
WITHOUT_TLS_ANCHORS = ("raw", "curlew", "ahc")

# The command line tool writes what it fetches into files. Over plain HTTP it does nothing else of what is measured here.
PROGRAMS = ("raw", "curlew", "ahc", "urlsession")
INTO_FILES = ("curl", "curlew", "ahc")

# Go makes small requests and reads JSON: it shows what another language's standard library takes for a service's daily work.
WITH_GO = ("raw", "curlew", "ahc", "go", "urlsession")

# Clients with WebSockets. async-http-client has none, and URLSession's do not work on Linux.
WITH_WEBSOCKETS = ("raw", "curlew", "go", "python")

# The slow server answers after so long: long enough for 10,000 requests to be waiting at once.
SLOW_SERVER_MILLISECONDS = 5000


@dataclass(frozen=True)
class Workload:
    """One row of the table for each client."""

    name: str
    # What the client is told to do, and where.
    kind: str
    target: str
    requests: int
    concurrency: int
    # Connections to the host; as many as requests in flight unless said otherwise.
    connections: int | None = None
    warm_up: int | None = None
    clients: tuple[str, ...] = PROGRAMS
    # The workload that the ratios are taken against, where it is not this one.
    compared_with: str | None = None
    # Where every second request goes instead, and on how many event loops: Curlew alone knows these.
    second_target: str | None = None
    loops: int | None = None
    # To how many hosts requests go in turn: addresses of this machine.
    hosts: int | None = None
    # The version of HTTP, where libcurl of Debian 13's backports is measured: 2 or 3.
    http_version: int | None = None
    # Large bodies are counted in bytes, all else in requests, messages or sockets.
    is_large: bool = False
    noun: str = "request"
    # Whether a quick run, or a slow client, may make fewer requests.
    shrinks: bool = True

    def requests_by(self, client: str, quick: bool) -> int:
        """How many requests a client makes in one run."""
        count = self.requests
        if self.shrinks:
            count = count * SHARES.get(client, 1) * (0.1 if quick else 1)
        return max(int(count), 1 if self.is_large else self.concurrency)


WORKLOADS = (
    Workload("small-get-1", "get", "small", 20_000, 1, clients=WITH_GO),
    Workload("small-get-64", "get", "small", 80_000, 64, clients=WITH_GO),
    Workload("small-get-1000", "get", "small", 60_000, 1000, clients=WITH_GO),
    # More requests than connections: the others wait.
    Workload("small-get-1000-on-64", "get", "small", 60_000, 1000, connections=64, clients=("raw", "curlew", "ahc")),
    Workload(
        "small-get-10000-on-64", "get", "small", 60_000, 10_000, connections=64, clients=("raw", "curlew", "ahc")),
    Workload("200-hosts-1000", "get", "hosts", 60_000, 1000, hosts=200, clients=("raw", "curlew")),
    Workload(
        "small-get-1-on-loop", "get-on-loop", "small", 20_000, 1, clients=("curlew",), compared_with="small-get-1"),
    Workload(
        "small-get-64-standard", "get-standard", "small", 80_000, 64, clients=("curlew",), compared_with="small-get-64"),
    Workload(
        "small-get-64-limited", "get-limited", "small", 80_000, 64, clients=("curlew",), compared_with="small-get-64"),
    Workload(
        "small-get-64-measured", "get-measured", "small", 80_000, 64, clients=("curlew",), compared_with="small-get-64"),
    Workload(
        "small-get-64-observed", "get-observed", "small", 80_000, 64, clients=("curlew",), compared_with="small-get-64"),
    Workload(
        "small-get-64-traced", "get-traced", "small", 80_000, 64, clients=("curlew",), compared_with="small-get-64"),
    Workload("http2-64", "get", "small-http2", 60_000, 64, connections=1, clients=WITHOUT_TLS_ANCHORS),
    Workload("tls-each-request", "get", "small-tls", 3_000, 8, clients=WITHOUT_TLS_ANCHORS),
    # As the row before, but the server lets clients resume their sessions.
    Workload(
        "tls-each-request-resumed", "get", "small-tls-resumed", 3_000, 8, clients=WITHOUT_TLS_ANCHORS,
        compared_with="tls-each-request"),
    Workload("json-1k", "json", "json-1k", 50_000, 64, clients=WITH_GO),
    Workload("json-100k", "json", "json-100k", 4_000, 16, clients=WITH_GO),
    Workload("stream-down", "stream", "large", 1, 1, is_large=True, shrinks=False),
    Workload("two-hosts-1-loop", "stream", "large", 8, 4, clients=("curlew",), second_target="large-too", loops=1,
        is_large=True, shrinks=False),
    Workload("two-hosts-2-loops", "stream", "large", 8, 4, clients=("curlew",), second_target="large-too", loops=2,
        is_large=True, shrinks=False),
    Workload(
        "download", "download", "large", 1, 1, clients=INTO_FILES, is_large=True, shrinks=False),
    Workload("upload", "upload", "sink", 1, 1, is_large=True, shrinks=False),
    Workload("slow-server-10000", "get", "slow", 10_000, 10_000, warm_up=0, shrinks=False),
    # Each of 64 sockets sends a message of 1 KiB and awaits its echo, in turn.
    Workload(
        "websocket-echo-64", "websocket-echo", "websocket", 400_000, 64, clients=WITH_WEBSOCKETS, noun="message"),
    Workload(
        "websocket-echo-64-on-loop", "websocket-echo-on-loop", "websocket", 400_000, 64, clients=("curlew",),
        compared_with="websocket-echo-64", noun="message"),
    # Opens sockets, each with a reader that waits, and keeps them open.
    Workload(
        "websocket-idle-10000", "websocket-idle", "websocket", 10_000, 64, connections=10_000, warm_up=0,
        clients=WITH_WEBSOCKETS, noun="socket", shrinks=False),
)

WITH_HTTP3 = ("raw", "curlew", "curl")

# The same work over HTTP/3 and over HTTP/2, on one connection.
HTTP3_WORKLOADS = tuple(
    workload for version in (3, 2) for workload in (
        Workload(
            f"http{version}-small-get-64", "get", f"small-http{version}", 40_000, 64, connections=1, clients=WITH_HTTP3,
            http_version=version),
        Workload(
            f"http{version}-stream-down", "stream", f"large-http{version}", 1, 1, clients=WITH_HTTP3, is_large=True,
            http_version=version, shrinks=False)))


def named(names: list[str], workloads: tuple[Workload, ...]) -> list[Workload]:
    """The workloads of these names, in the order of the table; all of them for no name."""
    check("workload", names, [workload.name for workload in workloads])
    return [workload for workload in workloads if not names or workload.name in names]


def clients_named(names: list[str]) -> list[str]:
    """The clients of these names, in their order in the table; all of them for no name."""
    check("client", names, list(CLIENTS))
    return [client for client in CLIENTS if not names or client in names]


def check(noun: str, names: list[str], known: list[str]) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise SystemExit(f"no such {noun}: {', '.join(unknown)}\nthere are: {', '.join(known)}")

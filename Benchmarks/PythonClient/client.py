"""The WebSockets of the package `websockets` under the same assignments as the other clients."""

import argparse
import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable

from websockets.asyncio.client import ClientConnection, connect

MESSAGE = bytes(1024)

# What it ends with that has printed its figures, errors among them.
SOME_REQUESTS_FAILED = 3

Exchange = Callable[[int], Awaitable[int]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench-python", description=__doc__)
    parser.add_argument("workload", choices=("websocket-echo", "websocket-idle"))
    parser.add_argument("url")
    parser.add_argument("requests", type=int)
    parser.add_argument("concurrency", type=int)
    parser.add_argument("--connections", type=int, help="not needed: connections are not limited")
    parser.add_argument("--warm-up", type=int, help="how many requests are made before measuring")
    return parser.parse_args()


async def open_socket(url: str) -> ClientConnection:
    """Opens a WebSocket. The others offer no compression, either."""
    return await connect("ws" + url.removeprefix("http"), compression=None, user_agent_header=None)


class Sockets:
    """Open WebSockets. Those that are idle have a reader each, as in an application."""

    def __init__(self, url: str):
        self.url = url
        self.all: list[ClientConnection] = []
        self.readers: list[asyncio.Task] = []

    async def open_all(self, count: int) -> None:
        for _ in range(count):
            self.all.append(await open_socket(self.url))

    async def open_idle(self, _: int) -> int:
        opened = await open_socket(self.url)
        self.all.append(opened)
        self.readers.append(asyncio.create_task(self.read(opened)))
        return 0

    @staticmethod
    async def read(opened: ClientConnection) -> None:
        async for _ in opened:
            pass

    async def echo(self, caller: int) -> int:
        used = self.all[caller]
        await used.send(MESSAGE)
        received = await used.recv()
        if len(received) != len(MESSAGE):
            raise ValueError(f"an echo of {len(received)} bytes")
        return len(received)


class Tally:
    """What came of some requests."""

    def __init__(self, requests: int):
        self.left = requests
        self.requests = 0
        self.errors = 0
        self.bytes = 0

    async def call(self, caller: int, exchange: Exchange) -> None:
        """Makes requests, one after the other, until all callers together have made enough."""
        while self.left > 0:
            self.left -= 1
            self.requests += 1
            try:
                count = await exchange(caller)
                self.bytes += count
            except Exception as error:
                if self.errors == 0:
                    print(f"python: {error!r}", file=sys.stderr)
                self.errors += 1


async def work(requests: int, concurrency: int, exchange: Exchange) -> Tally:
    tally = Tally(requests)
    await asyncio.gather(*(tally.call(caller, exchange) for caller in range(concurrency)))
    return tally


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_resident_bytes() -> int:
    """The most memory that the process has had resident. `ru_maxrss` would not do: it survives `exec`."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


async def main() -> None:
    options = arguments()
    sockets = Sockets(options.url)
    is_idle = options.workload == "websocket-idle"
    exchange = sockets.open_idle if is_idle else sockets.echo
    if not is_idle:
        await sockets.open_all(options.concurrency)
    warm_up = options.concurrency * 2 if options.warm_up is None else options.warm_up
    await work(warm_up, options.concurrency, exchange)
    start, processor_start = time.monotonic(), processor_seconds()
    tally = await work(options.requests, options.concurrency, exchange)
    wall_seconds, cpu_seconds = time.monotonic() - start, processor_seconds() - processor_start
    print(json.dumps({
        "client": "python", "workload": options.workload, "requests": tally.requests, "errors": tally.errors,
        "wall_seconds": wall_seconds, "cpu_seconds": cpu_seconds, "peak_rss_bytes": peak_resident_bytes(),
        "bytes": tally.bytes}), flush=True)
    # Thousands of closing handshakes are not worth the wait.
    os._exit(SOME_REQUESTS_FAILED if tally.errors else 0)


if __name__ == "__main__":
    asyncio.run(main())

"""An HTTP/3 server with scripted faults, with aioquic, for LiveHTTP3Tests.

usage: http3_server.py CERTIFICATE [PORT]

CERTIFICATE is a PEM file with the key. The script writes its port to standard output as a line of JSON, and ends with
its standard input. The path of a request chooses the behaviour; the methods of Connection document it.
"""

import asyncio
import hashlib
import json
import sys
import threading

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import ErrorCode, FrameType, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, StopSendingReceived, StreamReset

VERSION_FALLBACK = 0x110
# The counts of all connections, which /counts reports.
counts = {"connections": 0, "requests": 0, "resets": 0, "resumed": 0, "early": 0}
refused = set()


def pattern(count):
    return (bytes(range(251)) * (count // 251 + 1))[:count]


class Connection(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = None
        self.streams = {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            counts["connections"] += 1
            counts["resumed"] += self._quic.tls.session_resumed
            counts["early"] += self._quic.tls.early_data_accepted
            self.http = H3Connection(self._quic)
        if isinstance(event, (StreamReset, StopSendingReceived)):
            counts["resets"] += 1
            self.streams.pop(event.stream_id, None)
        if self.http is None:
            return
        for item in self.http.handle_event(event):
            if isinstance(item, HeadersReceived) and item.stream_id not in self.streams:
                fields = dict(item.headers)
                stream = {"path": fields[b":path"].decode(), "method": fields[b":method"].decode(),
                          "digest": hashlib.sha256(), "count": 0, "fields": fields, "answered": False}
                self.streams[item.stream_id] = stream
                counts["requests"] += 1
                self.began(item.stream_id, stream)
            stream = self.streams.get(item.stream_id)
            if stream is None:
                continue
            if isinstance(item, DataReceived):
                self.received(item.stream_id, stream, item.data)
            if item.stream_ended:
                self.ended(item.stream_id, stream)

    # Answers

    def head(self, stream_id, status=200, fields=(), ends=False):
        self.http.send_headers(stream_id, [(b":status", str(status).encode()), *fields], end_stream=ends)

    def answer(self, stream_id, body, status=200, fields=()):
        is_head = self.streams[stream_id]["method"] == "HEAD"
        self.head(stream_id, status, [(b"content-length", str(len(body)).encode()), *fields], ends=is_head)
        if not is_head:
            self.http.send_data(stream_id, body, end_stream=True)
        self.transmit()

    def began(self, stream_id, stream):
        stream["answered"] = True
        match stream["path"].split("/")[1:]:
            case ["early"]:
                # A response before the request has ended; the rest of the request is refused.
                self.answer(stream_id, b"no", 403)
                self._quic.stop_stream(stream_id, ErrorCode.H3_NO_ERROR)
            case ["echo"]:
                self.head(stream_id)
            case ["hang"]:
                pass
            case ["refuse", name] if (name not in refused):
                # The first request with this name is rejected without being processed.
                refused.add(name)
                self.reset(stream_id, ErrorCode.H3_REQUEST_REJECTED)
            case ["fallback"]:
                self.reset(stream_id, VERSION_FALLBACK)
            case ["broken"]:
                # A body that ends before its length.
                self.head(stream_id, fields=[(b"content-length", b"100")])
                self.http.send_data(stream_id, b"0123456789", end_stream=False)
                self.reset(stream_id, ErrorCode.H3_INTERNAL_ERROR)
            case ["close", name] if (name not in refused):
                # The first request with this name ends its connection.
                refused.add(name)
                self.close(error_code=ErrorCode.H3_NO_ERROR)
            case _:
                stream["answered"] = False
        self.transmit()

    def received(self, stream_id, stream, data):
        stream["digest"].update(data)
        stream["count"] += len(data)
        if stream["path"] == "/echo":
            self.http.send_data(stream_id, data, end_stream=False)
            self.transmit()

    def ended(self, stream_id, stream):
        if stream["path"] == "/echo":
            self.http.send_data(stream_id, b"", end_stream=True)
            self.transmit()
        if stream["answered"]:
            return
        match stream["path"].split("/")[1:]:
            case ["counts"]:
                self.answer(stream_id, json.dumps(counts).encode())
            case ["bytes", count]:
                self.answer(stream_id, pattern(int(count)))
            case ["digest"]:
                self.answer(stream_id, f"{stream['count']} {stream['digest'].hexdigest()}".encode())
            case ["fields"]:
                fields = {name.decode(): value.decode() for name, value in stream["fields"].items()}
                self.answer(stream_id, json.dumps(fields).encode())
            case ["interim"]:
                # 103, the response without a length, and trailers.
                self.head(stream_id, 103, [(b"link", b"</style>; rel=preload")])
                self.head(stream_id)
                self.http.send_data(stream_id, b"body", end_stream=False)
                self.http.send_headers(stream_id, [(b"x-trailer", b"7")], end_stream=True)
                self.transmit()
            case ["goaway"]:
                # The response is followed by GOAWAY: this connection takes no later request.
                self.answer(stream_id, b"bye")
                frame = encode_frame(FrameType.GOAWAY, encode_uint_var(stream_id + 4))
                self._quic.send_stream_data(self.http._local_control_stream_id, frame)
                self.transmit()
            case _:
                self.answer(stream_id, b"hello " + stream["path"].encode())

    def reset(self, stream_id, code):
        self._quic.reset_stream(stream_id, code)
        self._quic.stop_stream(stream_id, code)


async def main():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=["h3"], idle_timeout=20)
    configuration.load_cert_chain(sys.argv[1], sys.argv[1])
    tickets = {}
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = await serve(
        "127.0.0.1", port, configuration=configuration, create_protocol=Connection,
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}))
    print(json.dumps({"port": server._transport.get_extra_info("sockname")[1]}), flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait():
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
    server.close()


asyncio.run(main())

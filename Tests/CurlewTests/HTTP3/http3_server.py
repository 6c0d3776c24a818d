"""An HTTP/3 server with scripted faults, with aioquic, for the tests of HTTP/3.

usage: http3_server.py CERTIFICATE [PORT [OPTIONS]]

CERTIFICATE is a PEM file with the key. OPTIONS is an object in JSON:

    retry           True: the address of each client is validated by a Retry packet
    versions        The versions of QUIC
    idle            The idle timeout in seconds
    maxData         The limits of flow control, of a connection and of a stream
    maxStreamData
    fixedWindow     True: the limits of flow control of a stream stay as they are
    protocol        The name of ALPN; h3 without it
    beginning       The name of a fault in http3_faults.beginnings, for the first connection
    certificate     `asked` or `required`: the client's certificate
    relay           The faults of a relay, through which the clients reach the server: http3_relay.Relay

The script writes its port to standard output as a line of JSON, and ends with its standard input. The path of a request
chooses the behaviour; the methods of Connection document it.
"""

import asyncio
import hashlib
import json
import sys
import threading

import aioquic.tls
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.buffer import encode_uint_var
from aioquic.h3.connection import ErrorCode, FrameType, H3Connection, encode_frame
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import (
    ConnectionTerminated, HandshakeCompleted, ProtocolNegotiated, StopSendingReceived, StreamReset)
from cryptography.hazmat.primitives.serialization import Encoding

import http3_faults
import http3_relay

VERSION_FALLBACK = 0x110
# The TLS alert certificate_required in a transport error (RFC 9001 §4.8).
CERTIFICATE_REQUIRED = 0x100 + 116
options = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
relay = None
# The counts of all connections, which /counts reports. `closed` has the numbers of those that the client has closed,
# and `expired` of those that ended by their idle timeout.
counts = {"connections": 0, "requests": 0, "resets": 0, "resumed": 0, "early": 0, "closed": [], "expired": [],
          "waiting": 0}
refused = set()
# The requests that wait for /release.
waiting = []


def pattern(count):
    return (bytes(range(251)) * (count // 251 + 1))[:count]


class Connection(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = None
        self.number = 0
        self.is_ending = False
        self.streams = {}

    @property
    def address(self):
        return self._quic._network_paths[0].addr

    @property
    def client_certificate(self):
        return self._quic.tls._peer_certificate

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            counts["connections"] += 1
            self.number = counts["connections"]
            counts["resumed"] += self._quic.tls.session_resumed
            counts["early"] += self._quic.tls.early_data_accepted
            is_faulty = "beginning" in options and self.number == 1
            self.http = (http3_faults.FaultyConnection(self._quic, options["beginning"])
                         if is_faulty else H3Connection(self._quic))
        if isinstance(event, HandshakeCompleted):
            if relay:
                relay.handshake_ended(self.address)
            if options.get("certificate") == "required" and self.client_certificate is None:
                self.end(CERTIFICATE_REQUIRED)
        if isinstance(event, ConnectionTerminated) and not self.is_ending:
            counts["expired" if event.reason_phrase == "Idle timeout" else "closed"].append(self.number)
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

    def end(self, code):
        self.is_ending = True
        self._quic.close(error_code=code)

    def send(self, stream_id, parts):
        """Sends these bytes on the stream of a request, and ends it."""
        for part in parts:
            # Each part is a packet of its own.
            self._quic.send_stream_data(stream_id, part)
            self.transmit()
        self._quic.send_stream_data(stream_id, b"", True)

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
            case ["wait"]:
                counts["waiting"] += 1
                waiting.append((self, stream_id))
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
            case ["reset", code, *length]:
                # A body that is reset with this code; the length is that of a longer body.
                self.head(stream_id, fields=[(b"content-length", value.encode()) for value in length])
                self.http.send_data(stream_id, b"wrong", end_stream=False)
                self.transmit()
                self._quic.reset_stream(stream_id, int(code))
            case ["cut"]:
                # A connection that ends in the middle of a body without a length.
                self.head(stream_id)
                self.http.send_data(stream_id, b"wrong", end_stream=False)
                self.transmit()
                self.end(ErrorCode.H3_NO_ERROR)
            case ["last", *rest]:
                # A response, with a length or without, whose connection ends at once.
                if rest:
                    self.head(stream_id)
                    self.http.send_data(stream_id, b"last", end_stream=True)
                    self.transmit()
                else:
                    self.answer(stream_id, b"last")
                self.end(ErrorCode.H3_NO_ERROR)
            case ["close", name] if (name not in refused):
                # The first request with this name ends its connection.
                refused.add(name)
                self.end(ErrorCode.H3_NO_ERROR)
            case ["silence"]:
                # All later packets of the connection are lost.
                self.head(stream_id, fields=[(b"content-length", b"100")])
                self.http.send_data(stream_id, b"0123456789", end_stream=False)
                self.transmit()
                relay.silence(self.address)
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
            case ["bad", name] if (name in http3_faults.responses):
                self.send(stream_id, http3_faults.responses[name]())
                self.transmit()
            case ["bad", name] if (http3_faults.disturb(self.http, self._quic, name)):
                # The fault arrives before the response.
                self.transmit()
                self.answer(stream_id, b"right")
            case ["release"]:
                for connection, identifier in waiting:
                    connection.answer(identifier, b"released")
                waiting.clear()
                self.answer(stream_id, b"done")
            case ["connection"]:
                self.answer(stream_id, str(self.number).encode())
            case ["certificate"]:
                certificate = self.client_certificate
                self.answer(stream_id, certificate.public_bytes(Encoding.DER) if certificate else b"")
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


def ask_for_certificates():
    """Makes each server connection ask for the client's certificate; aioquic has this for its own tests only."""
    begin = aioquic.tls.Context.__init__

    def begin_and_ask(self, *arguments, **named):
        begin(self, *arguments, **named)
        self._request_client_certificate = True

    aioquic.tls.Context.__init__ = begin_and_ask


async def main():
    global relay
    configuration = QuicConfiguration(is_client=False, idle_timeout=options.get("idle", 20))
    configuration.alpn_protocols = [options.get("protocol", "h3")]
    configuration.load_cert_chain(sys.argv[1], sys.argv[1])
    configuration.max_data = options.get("maxData", configuration.max_data)
    configuration.max_stream_data = options.get("maxStreamData", configuration.max_stream_data)
    configuration.supported_versions = options.get("versions", configuration.supported_versions)
    if "certificate" in options:
        ask_for_certificates()
    if options.get("fixedWindow"):
        QuicConnection._write_stream_limits = lambda *arguments, **named: None
    tickets = {}
    # aioquic cannot ask a client that resumes for its certificate, so such a server gives no tickets.
    keep = None if "certificate" in options else lambda ticket: tickets.update({ticket.ticket: ticket})
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    server = await serve(
        "127.0.0.1", port, configuration=configuration, create_protocol=Connection, retry=options.get("retry", False),
        session_ticket_fetcher=lambda label: tickets.pop(label, None), session_ticket_handler=keep)
    address = server._transport.get_extra_info("sockname")
    if "relay" in options:
        relay = http3_relay.Relay(address, options["relay"])
    print(json.dumps({"port": relay.port if relay else address[1]}), flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait():
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=wait, daemon=True).start()
    await ended.wait()
    server.close()


asyncio.run(main())

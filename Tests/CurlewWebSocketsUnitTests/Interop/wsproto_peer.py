"""A WebSocket peer with wsproto, driven line by line over standard input and output.

Each line is a JSON object; bytes are in Base64.

    {"op": "accept", "input": REQUEST, "deflate": PARAMETERS or null, "subprotocol": NAME or null}
        The peer is a server. The answer has its response: {"output": RESPONSE}.
    {"op": "request", "deflate": PARAMETERS or null, "subprotocols": [NAME, ...]}
        The peer is a client. The answer has its request: {"output": REQUEST}.
    {"op": "exchange", "input": BYTES, "size": N, "send": [ITEM, ...]}
        The peer reads the bytes in pieces of N, and then sends items. The answer has the events and the bytes:
        {"events": [ITEM, ...], "output": BYTES, "subprotocol": NAME, "deflate": PARAMETERS or null}

An item is ["text", [BYTES, ...]], ["binary", [BYTES, ...]] (its fragments), ["ping", BYTES], ["pong", BYTES],
["close", CODE, BYTES] or, among events only, ["error", TEXT].

The recordings were made with wsproto 1.3.2: python3 -m venv venv && venv/bin/pip install wsproto
"""

import base64
import json
import sys

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection, BytesMessage, CloseConnection, Ping, Pong, RejectConnection, Request, TextMessage,
)
from wsproto.extensions import PerMessageDeflate
from wsproto.utilities import RemoteProtocolError


def encode(data):
    return base64.b64encode(bytes(data)).decode()


class Peer:
    def __init__(self):
        self.connection = None
        self.extension = None
        self.subprotocol = None
        self.message = []

    def extensions(self, parameters):
        self.extension = None if parameters is None else PerMessageDeflate(**parameters)
        return [] if self.extension is None else [self.extension]

    def accept(self, command):
        self.connection = WSConnection(ConnectionType.SERVER)
        self.connection.receive_data(base64.b64decode(command["input"]))
        request = next(self.connection.events())
        assert isinstance(request, Request), request
        self.subprotocol = command["subprotocol"]
        response = AcceptConnection(
            subprotocol=self.subprotocol, extensions=self.extensions(command["deflate"]))
        return {"output": encode(self.connection.send(response)), "offered": request.subprotocols}

    def request(self, command):
        self.connection = WSConnection(ConnectionType.CLIENT)
        request = Request(
            host="example.com", target="/", subprotocols=command["subprotocols"],
            extensions=self.extensions(command["deflate"]))
        return {"output": encode(self.connection.send(request))}

    def exchange(self, command):
        data = base64.b64decode(command["input"])
        events = []
        try:
            for start in range(0, len(data), command["size"]):
                self.connection.receive_data(data[start:start + command["size"]])
                for event in self.connection.events():
                    self.take(event, events)
        except RemoteProtocolError as error:
            events.append(["error", str(error)])
        output = b"".join(self.send(item) for item in command["send"])
        return {
            "events": events, "output": encode(output), "subprotocol": self.subprotocol,
            "deflate": self.agreement(),
        }

    def agreement(self):
        extension = self.extension
        if extension is None or not extension.enabled():
            return None
        return {
            "client_no_context_takeover": extension.client_no_context_takeover,
            "server_no_context_takeover": extension.server_no_context_takeover,
            "client_max_window_bits": extension.client_max_window_bits,
            "server_max_window_bits": extension.server_max_window_bits,
        }

    def take(self, event, events):
        if isinstance(event, AcceptConnection):
            self.subprotocol = event.subprotocol
        elif isinstance(event, (TextMessage, BytesMessage)):
            kind = "text" if isinstance(event, TextMessage) else "binary"
            self.message.append(event.data.encode() if kind == "text" else bytes(event.data))
            if event.message_finished:
                events.append([kind, [encode(b"".join(self.message))]])
                self.message = []
        elif isinstance(event, Ping):
            events.append(["ping", encode(event.payload)])
        elif isinstance(event, Pong):
            events.append(["pong", encode(event.payload)])
        elif isinstance(event, CloseConnection):
            events.append(["close", event.code, encode((event.reason or "").encode())])
        elif isinstance(event, RejectConnection):
            events.append(["error", "rejected with %d" % event.status_code])

    def send(self, item):
        if item[0] in ("text", "binary"):
            output = b""
            for index, fragment in enumerate(item[1]):
                data = base64.b64decode(fragment)
                isLast = index == len(item[1]) - 1
                if item[0] == "text":
                    event = TextMessage(data=data.decode(), message_finished=isLast)
                else:
                    event = BytesMessage(data=data, message_finished=isLast)
                output += self.connection.send(event)
            return output
        if item[0] == "ping":
            return self.connection.send(Ping(payload=base64.b64decode(item[1])))
        if item[0] == "pong":
            return self.connection.send(Pong(payload=base64.b64decode(item[1])))
        return self.connection.send(CloseConnection(code=item[1], reason=base64.b64decode(item[2]).decode() or None))


def main():
    peer = None
    for line in sys.stdin:
        command = json.loads(line)
        if command["op"] != "exchange":
            peer = Peer()
        answer = getattr(peer, command["op"])(command)
        print(json.dumps(answer), flush=True)


main()

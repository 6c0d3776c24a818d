"""A UDP relay with seeded faults between a client and http3_server.py.

Each client address has a socket of its own towards the server. All faults are drawn from one generator with a fixed
seed, in the order of the packets.
"""

import asyncio
import random
import socket


def loopback(port=0):
    result = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    result.setblocking(False)
    result.bind(("127.0.0.1", port))
    return result


class Relay:
    """Relays packets in both directions.

    The options are `seed`; the probabilities `drop`, `duplicate`, `reorder` and `corrupt`; `silences`, the number of
    connections whose packets are all dropped after the handshake; `foreign`, which sends the server's packets from
    another port as well (`copies`) or, on the first `silences` connections, instead (`only`) after the handshake; and
    `rebind`, the number of packets of a client after which the relay's own port changes, as it does behind a NAT.
    """

    # A held packet is sent after the next one, or after this time in seconds if there is no next one.
    LONGEST_HOLD = 0.01

    def __init__(self, target, options):
        self.loop = asyncio.get_running_loop()
        self.target = target
        self.options = options
        self.random = random.Random(options["seed"])
        self.front = loopback()
        self.other = loopback()
        self.port = self.front.getsockname()[1]
        self.backs = {}
        self.counts = {}
        self.silent = set()
        self.silenced = 0
        self.held = []
        self.loop.add_reader(self.front, self.read_front)

    def read_front(self):
        for data, client in received(self.front):
            back = self.back(client)
            self.forward(data, back.getsockname()[1], lambda data, back=back: back.sendto(data, self.target))

    def read_back(self, back, client):
        for data, _ in received(back):
            self.forward(data, back.getsockname()[1], lambda data: self.answer(data, client, back))

    def back(self, client):
        count = self.counts[client] = self.counts.get(client, 0) + 1
        rebind = self.options.get("rebind")
        if client not in self.backs or (rebind and count % rebind == 0):
            back = self.backs[client] = loopback()
            self.loop.add_reader(back, self.read_back, back, client)
        return self.backs[client]

    def answer(self, data, client, back):
        foreign = self.options.get("foreign")
        if foreign == "copies" or back.getsockname()[1] in self.silent:
            self.other.sendto(data, client)
        if back.getsockname()[1] not in self.silent:
            self.front.sendto(data, client)

    def handshake_ended(self, address):
        """Notes the end of a handshake, which is the start of some faults."""
        if self.silenced < self.options.get("silences", 0):
            self.silence(address)

    def silence(self, address):
        """Drops all packets of a connection that the server sends from now on."""
        self.silenced += 1
        for client, back in list(self.backs.items()):
            if back.getsockname()[1] == address[1]:
                self.read_back(back, client)
        self.silent.add(address[1])

    def forward(self, data, port, send):
        is_dropped = port in self.silent and self.options.get("foreign") != "only"
        if is_dropped or self.occurs("drop"):
            return
        if self.occurs("corrupt"):
            index = self.random.randrange(len(data))
            data = data[:index] + bytes([data[index] ^ 0x40]) + data[index + 1:]
        if self.occurs("reorder"):
            self.held.append((send, data))
            self.loop.call_later(self.LONGEST_HOLD, self.release)
            return
        send(data)
        if self.occurs("duplicate"):
            send(data)
        self.release()

    def release(self):
        held, self.held = self.held, []
        for send, data in held:
            send(data)

    def occurs(self, fault):
        probability = self.options.get(fault, 0)
        return probability > 0 and self.random.random() < probability


def received(source):
    """The packets that a socket has received, with their senders."""
    while True:
        try:
            yield source.recvfrom(65536)
        except BlockingIOError:
            return
        except OSError:
            # A port that is no longer there has refused an earlier packet.
            continue

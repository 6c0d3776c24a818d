"""Echo servers with websockets and wsproto, and nginx before one of them, for LiveServerTests.

The script writes the servers' addresses to standard output as a line of JSON, and ends with its standard input.
The text "fragments N" requests the following messages in N fragments, "close CODE REASON" requests a close frame,
and "ping" requests a ping whose pong the server awaits.
"""

import asyncio
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Request, TextMessage
from wsproto.extensions import PerMessageDeflate


def pieces(message, count):
    size = max(1, -(-len(message) // count))
    return [message[at:at + size] for at in range(0, len(message), size)] or [message]


async def by_websockets(socket):
    fragments = 1
    try:
        async for message in socket:
            if isinstance(message, str) and message.startswith("fragments "):
                fragments = int(message.split()[1])
            elif isinstance(message, str) and message.startswith("close "):
                _, code, reason = message.split(" ", 2)
                await socket.close(int(code), reason)
            elif message == "ping":
                await (await socket.ping())
                await socket.send("pong")
            elif fragments > 1:
                await socket.send(pieces(message, fragments))
            else:
                await socket.send(message)
    except ConnectionClosed:
        pass


async def by_wsproto(reader, writer, make_extensions):
    connection = WSConnection(ConnectionType.SERVER)
    fragments = 1
    whole = None
    try:
        while data := await reader.read(65536):
            connection.receive_data(data)
            for event in connection.events():
                output = b""
                if isinstance(event, Request):
                    protocol = event.subprotocols[0] if event.subprotocols else None
                    output = connection.send(
                        AcceptConnection(subprotocol=protocol, extensions=make_extensions()))
                elif isinstance(event, Ping):
                    output = connection.send(event.response())
                elif isinstance(event, CloseConnection):
                    writer.write(connection.send(event.response()))
                    await writer.drain()
                    return
                elif isinstance(event, (TextMessage, BytesMessage)):
                    whole = event.data if whole is None else whole + event.data
                    if not event.message_finished:
                        continue
                    message, whole = whole, None
                    if isinstance(message, str) and message.startswith("fragments "):
                        fragments = int(message.split()[1])
                    elif isinstance(message, str) and message.startswith("close "):
                        _, code, reason = message.split(" ", 2)
                        output = connection.send(CloseConnection(code=int(code), reason=reason))
                    else:
                        kind = TextMessage if isinstance(message, str) else BytesMessage
                        parts = pieces(bytes(message) if kind is BytesMessage else message, fragments)
                        for index, part in enumerate(parts):
                            output += connection.send(
                                kind(data=part, message_finished=index == len(parts) - 1))
                writer.write(output)
                await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


def nginx(folder, port):
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if not program:
        return None, None
    path = os.path.join(folder, "nginx.sock")
    with open(os.path.join(folder, "nginx.conf"), "w") as file:
        file.write(f"""
daemon off; master_process off; error_log stderr crit; pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen unix:{path};
        location / {{
            proxy_pass http://127.0.0.1:{port}; proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";
        }}
    }}
}}
""")
    process = subprocess.Popen(
        [program, "-p", folder, "-c", os.path.join(folder, "nginx.conf")], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL)
    return process, path


async def main():
    servers = []
    certificate = sys.argv[1]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def add(name, **options):
        server = await serve(by_websockets, "127.0.0.1", 0, max_size=None, subprotocols=["chat"], **options)
        servers.append({"name": name, "port": server.sockets[0].getsockname()[1], "tls": "ssl" in options})

    await add("websockets", compression=None)
    await add("websockets over TLS", compression="deflate", ssl=context)
    for takeover in [(False, False), (True, False), (False, True), (True, True)]:
        for bits in [9, 12, 15]:
            factory = ServerPerMessageDeflateFactory(
                server_no_context_takeover=takeover[0], client_no_context_takeover=takeover[1],
                server_max_window_bits=bits, client_max_window_bits=bits)
            await add(f"websockets, no takeover {takeover}, {bits} bits", compression=None, extensions=[factory])
    for name, make in {
        "wsproto": lambda: [],
        "wsproto with deflate": lambda: [PerMessageDeflate()],
        "wsproto without takeover": lambda: [
            PerMessageDeflate(client_no_context_takeover=True, server_no_context_takeover=True)],
    }.items():
        server = await asyncio.start_server(
            lambda reader, writer, make=make: by_wsproto(reader, writer, make), "127.0.0.1", 0)
        servers.append({"name": name, "port": server.sockets[0].getsockname()[1], "tls": False})

    with tempfile.TemporaryDirectory() as folder:
        process, path = nginx(folder, servers[2]["port"])
        if process:
            while not os.path.exists(path) and process.poll() is None:
                await asyncio.sleep(0.01)
            servers.append({"name": "nginx before websockets", "port": 0, "tls": False, "path": path})
        print(json.dumps(servers), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        if process:
            # nginx inherits blocked signals from the tests, so only SIGKILL ends it.
            process.kill()
            process.wait()


asyncio.run(main())

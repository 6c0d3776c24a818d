"""nginx with a configuration, a folder and ports of its own."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

from driver.processes import start, stop

# One worker: a client that keeps one processor busy finds the other one free for the server.
HEAD = """
daemon off;
{user}
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections {connections}; }}
http {{
    access_log off;
    types {{ }}
    # Curlew refuses to decode what does not say that it is JSON; nobody looks at the type of the rest.
    default_type application/json;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 600;
    keepalive_requests 1000000000;
    http2_max_concurrent_streams 128;
    open_file_cache max=16 inactive=600;
    client_body_temp_path {folder}/client;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
"""

# Servers with TLS begin with these lines. The folder needs the files of the module `certificates`.
TLS = """
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_certificate {folder}/server.pem;
    ssl_certificate_key {folder}/server.key;
    # Every handshake is a whole one, whether or not a client would resume a session.
    ssl_session_cache off;
    ssl_session_tickets off;
"""

SERVERS = TLS + """
    server {{
        listen 127.0.0.1:{plain} backlog=4096;
        listen 127.0.0.1:{plain_too} backlog=4096;
        root {folder}/root;
        location = /small {{ return 200 "{small}"; }}
    }}
    # Closes the connection after each answer, so that every request needs a new one.
    server {{
        listen 127.0.0.1:{tls} ssl backlog=4096;
        keepalive_timeout 0;
        location = /small {{ return 200 "{small}"; }}
    }}
    # The same, and whoever has been here before resumes the session.
    server {{
        listen 127.0.0.1:{tls_resumed} ssl backlog=4096;
        keepalive_timeout 0;
        ssl_session_tickets on;
        location = /small {{ return 200 "{small}"; }}
    }}
    # Answers at every address of this machine.
    server {{
        listen {hosts} backlog=4096;
        location = /small {{ return 200 "{small}"; }}
    }}
    # Refuses whoever has not agreed to HTTP/2.
    server {{
        listen 127.0.0.1:{http2} ssl http2;
        if ($server_protocol != "HTTP/2.0") {{ return 426; }}
        location = /small {{ return 200 "{small}"; }}
    }}
"""

PORTS = ("plain", "plain_too", "tls", "tls_resumed", "hosts", "http2")

SMALL_BODY = "0123456789abcdef" * 4


class Nginx:
    """A server that lives as long as the `with` block. Its configuration has `servers`, with a port for each of `names`
    and with the other `values`."""

    def __init__(
            self, folder: Path, program: list[str] | None = None, servers: str = SERVERS, names: tuple[str, ...] = PORTS,
            connections: int = 20000, **values: object):
        self.folder = folder
        self.program = program or [find_nginx()]
        self.servers = servers
        self.names = names
        self.values = {"connections": connections, **values}
        self.ports: dict[str, int] = {}
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Nginx":
        for _ in range(3):
            self.begin()
            if self.is_ready():
                return self
            stop(self.process)
        log = self.folder / "error.log"
        raise SystemExit("nginx does not start\n" + (log.read_text() if log.exists() else ""))

    def __exit__(self, *_) -> None:
        stop(self.process)

    def begin(self) -> None:
        self.ports = dict(zip(self.names, free_ports(len(self.names))))
        user = "user root;" if os.geteuid() == 0 else ""
        file = self.folder / "nginx.conf"
        template = HEAD + self.servers + "}}\n"
        file.write_text(template.format(folder=self.folder, user=user, small=SMALL_BODY, **self.values, **self.ports))
        command = [*self.program, "-e", str(self.folder / "error.log"), "-p", str(self.folder), "-c", str(file)]
        self.process = start(command)

    def worker(self) -> int:
        """The process of the worker."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for _ in range(100):
            # Connections are accepted before the worker has started.
            if found := children.read_text().split():
                return int(found[0])
            time.sleep(0.05)
        raise SystemExit("nginx starts no worker")

    def is_ready(self) -> bool:
        for _ in range(100):
            if self.process.poll() is not None:
                return False
            try:
                for port in self.ports.values():
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.05)
        return False


def find_nginx() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if not found:
        raise SystemExit("nginx is needed; it is a package of its own on every distribution")
    return found


def free_ports(count: int) -> list[int]:
    """Ports that are free at this moment, for TCP and for UDP."""
    ports: list[int] = []
    with ExitStack() as held:
        while len(ports) < count:
            stream = held.enter_context(socket.socket())
            stream.bind(("127.0.0.1", 0))
            port = stream.getsockname()[1]
            if is_free_for_udp(port):
                ports.append(port)
    return ports


def is_free_for_udp(port: int) -> bool:
    with socket.socket(type=socket.SOCK_DGRAM) as datagram:
        try:
            datagram.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

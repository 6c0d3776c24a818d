"""The server and the clients of HTTP/3, each with the libraries of Debian 13."""

import subprocess
from pathlib import Path

from driver.nginx import TLS, Nginx
from driver.stage import Stage

USERLAND = str(Path(__file__).resolve().parents[2] / ".ci/userland")

# Two servers with the same port number, of UDP and of TCP. The second one refuses clients that have not agreed to HTTP/2.
SERVERS = TLS + """
    server {{
        listen 127.0.0.1:{port} quic;
        quic_gso on;
        root {folder}/root;
        location = /small {{ return 200 "{small}"; }}
    }}
    server {{
        listen 127.0.0.1:{port} ssl backlog=4096;
        http2 on;
        root {folder}/root;
        if ($server_protocol != "HTTP/2.0") {{ return 426; }}
        location = /small {{ return 200 "{small}"; }}
    }}
"""


class HTTP3Stage(Stage):
    """Debian 13's nginx with HTTP/3 and HTTP/2. The clients use the libcurl of Debian 13's backports."""

    def serve(self) -> None:
        versions = {(userland(suite) / "version").read_text().strip() for suite in ("trixie-backports", "trixie-curl")}
        if len(versions) > 1:
            raise SystemExit(f"libcurl and its tool differ, {' and '.join(versions)}: remove .build-userland")
        print(f"libcurl {versions.pop()}, nginx {(userland('trixie-nginx') / 'version').read_text()}", end="")
        nginx = [USERLAND, "trixie-nginx", str(userland("trixie-nginx") / "root/usr/sbin/nginx")]
        port = self.enter_context(Nginx(self.folder, nginx, SERVERS, ("port",))).ports["port"]
        for version in (2, 3):
            for name in ("small", "large"):
                self.urls[f"{name}-http{version}"] = f"https://127.0.0.1:{port}/{name}"
        # The first start makes a copy that needs no script, whose processor time would count.
        tool = userland("trixie-curl") / "root/usr/bin/curl"
        subprocess.run([USERLAND, "trixie-curl", str(tool), "--version"], check=True, stdout=subprocess.DEVNULL)
        self.tool = f"{tool}.trixie-curl"

    def program(self, client: str) -> list[str]:
        return [self.tool] if client == "curl" else [USERLAND, "trixie-backports", *super().program(client)]


def userland(suite: str) -> Path:
    """The folder of a userland, which is fetched if it is missing."""
    return Path(subprocess.run([USERLAND, suite], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())

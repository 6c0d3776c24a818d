"""An authority and a certificate of its own for every run."""

import subprocess
from pathlib import Path

CONFIGURATION = """
[req]
distinguished_name = name
prompt = no
[name]
CN = Benchmark
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


def make(folder: Path) -> None:
    """Writes `authority.pem`, `server.pem` and `server.key`."""
    (folder / "openssl.cnf").write_text(CONFIGURATION)
    request(folder, "authority", "authority", [])
    request(folder, "server", "server", ["-CA", "authority.pem", "-CAkey", "authority.key"])


def request(folder: Path, name: str, extensions: str, issuer: list[str]) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-config", "openssl.cnf", "-extensions", extensions, "-days", "2", "-nodes"]
        + ["-subj", f"/CN=Benchmark {name}", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        + ["-keyout", f"{name}.key", "-out", f"{name}.pem", *issuer],
        cwd=folder, check=True, capture_output=True)

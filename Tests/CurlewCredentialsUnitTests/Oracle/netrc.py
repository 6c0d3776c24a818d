"""Writes netrc.json: netrc files, and the login that curl has sent for a host.

curl asks a server of this script on the loopback address. LD_LIBRARY_PATH chooses libcurl: 8.14.1 is the version of the results. That
version sends the password of one user for another who is named in the URL, knows no `account`, and goes on with an entry behind a macro.
Later versions do not, nor does this library, so these cases are not here but in tests of their own.
"""
import base64
import http.server
import json
import os
import random
import subprocess
import tempfile
import threading

random.seed(46)
FILES = [
    "machine a login u password p", "machine a\nlogin u\npassword p\n", "machine a password p login u\n", "machine a login u\n",
    "machine a password p\n", "machine a\n", "default login u password p\n", "machine b login x password y\ndefault login u password p\n",
    "default login d password e\nmachine a login u password p\n", "MACHINE A LOGIN u PASSWORD p\n",
    "machine a login u password p\nmachine a login v password q\n", "machine a login v password q\nmachine a login u password p\n",

    "machine a login \"u v\" password \"p\\\"q\\\\r\\ts\"\n", "machine a login \"u\" password \"p\\nq\"\n", "machine a login u password \"\"\n",
    "machine \"a\" login u password p\n", "machine a login u password \"p\n", "machine a login u password p\"q\"\n", "machine a login u password \"p\"q\n",
    "machine a login u password p#q\n", "machine a login u # password p\n", "machine a login u #x\n password p\n", "# machine a login u password p\n",
    "  # c\nmachine a login u password p\n", "machine a\n# login x\nlogin u password p\n", "#machine b\nmachine a login u password #p\n",
    "machine a login u password p\nmacdef init\nmachine a login x password y\n\nmachine b login v password q\n",
    "macdef init\nmachine a login x password y\n\nmachine a login u password p\n", "macdef init\nx\n\n\nmachine a login u password p\n",
    "macdef init\nx\n  \nmachine a login u password p\n", "macdef init\nx\n", "macdef\nx\n\nmachine a login u password p\n",
     "machine\ta\tlogin\tu\tpassword\tp\n", "machine a\r\nlogin u\r\npassword p\r\n",
    "junk machine a junk login u junk password p junk\n", "machine machine login u password p\n", "machine a login login password password\n",
    "machine a login machine password default\n", "machine default login u password p\n", "machine aa login x password y\nmachine a login u password p\n",
    "", "\n\n", "machine", "machine a login", "machine a login u password", "password p login u\n", "machine a login u password p",
     "machine a login u password p\nmachine b login v password q\nmachine a login w password r\n",
]
HOSTS = ["a", "A", "b", "c"]


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        Server.last = self.headers.get("Authorization")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def case(text, host, port):
    with tempfile.NamedTemporaryFile("wb", delete=False) as file:
        file.write(text.encode())
    Server.last = None
    url = f"http://{host}/"
    status = subprocess.run(["curl", "-s", "-o", "/dev/null", "--noproxy", "*", "--max-time", "10", "--netrc-file", file.name, "--connect-to",
                             f"::127.0.0.1:{port}", url], check=False).returncode
    os.unlink(file.name)
    result = {"text": text, "host": host}
    if status:
        result["error"] = status
    elif Server.last:
        name, _, password = base64.b64decode(Server.last.removeprefix("Basic ")).decode().partition(":")
        result["login"] = [name, password]
    return result


def random_text():
    """Entries with words, comments and macros between them.

    The password comes last, and no line is a carriage return alone: both lead this version to logins of other hosts, and to errors.
    """
    text = ""
    for _ in range(random.randint(1, 4)):
        pairs = [f"login {random.choice(['u', 'machine', '#x', 'x#y'])}", f"password {random.choice(['p', 'login', '#p', 'default'])}"]
        if random.random() < 0.3:
            pairs[0] = 'login "u \\" w"'
        if random.random() < 0.3:
            pairs[1] = 'password "\\t\\\\\\q # macdef"'
        joint = random.choice([" ", "\n", "\t", "\r\n"])
        if random.random() < 0.3:
            words = ["junk", '"quoted machine"'] + (["\n# comment login x\n"] if joint == "\n" else [])
            pairs.insert(random.randint(0, 1), random.choice(words))
        if random.random() < 0.2:
            text += random.choice(["macdef m\nmachine a login x password y\n\n", "macdef m\n\n", "macdef m\nx\r\n \t\n",
                                   "# machine a login x password y\n"])
        head = random.choice(["machine a", "machine a", "machine b", "MACHINE A", 'Machine "a"', "default"])
        text += joint.join([head] + pairs) + random.choice(["\n", "\r\n", "\n\n"])
    return text


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    cases = [case(text, host, port) for text in FILES for host in HOSTS]
    cases += [case(random_text(), random.choice(["a", "b"]), port) for _ in range(300)]
    version = subprocess.run(["curl", "--version"], capture_output=True, text=True, check=True).stdout.split()[3]
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "netrc.json")
    with open(name, "w") as file:
        file.write('{"version":"%s","cases":[\n' % version + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]}\n")
    print(os.path.getsize(name), version, len(cases), sum("login" in case for case in cases), sum("error" in case for case in cases))

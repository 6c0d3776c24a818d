"""Writes aws.json: requests that botocore has signed, and credentials files that it has read.

Run it with a Python that has botocore, such as a virtual environment; the folder's README names the version.
"""
import base64
import datetime
import hashlib
import json
import os
import random
import tempfile

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.configloader import raw_config_parse
from botocore.credentials import Credentials
from botocore.exceptions import ConfigParseError

random.seed(46)
NOW = None
botocore.auth.get_current_datetime = lambda: NOW

UNRESERVED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~"
ODD = " !\"#$%&'()*+,/:;<=>?@[\\]^`{|}é漢🙂\n\t"


def word(low=1, high=10, odd=0.2):
    return "".join(random.choice(ODD if random.random() < odd else UNRESERVED) for _ in range(random.randint(low, high)))


def quoted(text, safe=""):
    return "".join(c if c in UNRESERVED + safe else "".join(f"%{b:02X}" for b in c.encode()) for c in text)


def path(is_s3):
    if random.random() < 0.1:
        return "/"
    segments = []
    for _ in range(random.randint(1, 4)):
        roll = random.random()
        # A slash inside a segment of S3 is the same as one between segments.
        segments.append("." if roll < 0.06 else ".." if roll < 0.12 else "" if roll < 0.18 else
                        quoted(word().replace("/", ""), "" if is_s3 else "!$'()*,:@"))
    text = "/" + "/".join(segments) + ("/" if random.random() < 0.2 else "")
    return text if not text.startswith("//") else "/x" + text


def query(has_bare_names):
    names = list(dict.fromkeys(word(1, 6) for _ in range(random.randint(0, 4))))
    pairs = []
    for name in names:
        value = word(0, 8)
        roll = random.random()
        pairs.append(quoted(name) if roll < 0.1 and has_bare_names else quoted(name) + "=" + quoted(value))
    return "&".join(pairs)


def headers():
    found = []
    for name in random.sample(
            ["Content-Type", "X-Amz-Target", "X-Amz-Meta-Name", "Accept", "Range", "User-Agent", "Connection", "Traceparent",
             "Cache-Control", "x-custom", "Expect", "Zulu", "If-None-Match", "Content-MD5"], random.randint(0, 6)):
        for _ in range(2 if random.random() < 0.15 else 1):
            value = "  ".join(word(1, 8, 0) for _ in range(random.randint(1, 3)))
            if random.random() < 0.2:
                value = value.replace(" ", "\t", 1)
            if random.random() < 0.1:
                value = f'"{value}"'
            found.append([name, value])
    if random.random() < 0.1:
        found.append(["Empty", ""])
    return found


def request_case(index):
    global NOW
    presigned = index % 5 == 4
    is_s3 = index % 2 == 0
    NOW = datetime.datetime(random.randint(1999, 2037), random.randint(1, 12), random.randint(1, 28), random.randint(0, 23),
                            random.randint(0, 59), random.randint(0, 59))
    scheme = random.choice(["http", "https"])
    host = random.choice(["example.com", "bucket.s3.eu-central-1.amazonaws.com", "127.0.0.1", "[::1]"])
    port = random.choice(["", "", "", ":80", ":443", ":8443"])
    target = path(is_s3)
    # botocore adds an equals sign to a bare name in a presigned URL; the signature is the same.
    text = query(not presigned)
    if text:
        target += "?" + text
    service = "s3" if is_s3 else random.choice(["iam", "sts", "execute-api", "dynamodb"])
    region = random.choice(["us-east-1", "eu-central-1", "cn-north-1"])
    token = random.choice([None, "FwoGZXIvYXdzEBYaD+/=" + word(20, 60, 0)])
    secret = "".join(random.choice(UNRESERVED + "/+") for _ in range(40))
    credentials = Credentials("AKID" + word(8, 16, 0).replace("-", "x"), secret, token)
    body = b"" if random.random() < 0.3 else random.randbytes(random.randint(1, 80))
    fields = headers()
    request = AWSRequest(random.choice(["GET", "PUT", "POST", "DELETE", "HEAD", "PATCH"]), f"{scheme}://{host}{port}{target}", data=body)
    for name, value in fields:
        request.headers.add_header(name, value)
    unsigned = not presigned and scheme == "https" and random.random() < 0.25
    request.context["payload_signing_enabled"] = not unsigned
    if unsigned and is_s3:
        class Config:
            s3 = {"payload_signing_enabled": False}
        request.context["client_config"] = Config
    expires = random.randint(1, 604800)
    if presigned:
        request.data = b""
        body = b""
        kind = botocore.auth.S3SigV4QueryAuth if is_s3 else botocore.auth.SigV4QueryAuth
        kind(credentials, service, region, expires).add_auth(request)
    else:
        (botocore.auth.S3SigV4Auth if is_s3 else botocore.auth.SigV4Auth)(credentials, service, region).add_auth(request)
    case = {
        "method": request.method, "scheme": scheme, "authority": host + port, "target": target, "fields": fields,
        "service": service, "region": region, "accessKey": credentials.access_key, "secretKey": secret,
        "seconds": int(NOW.replace(tzinfo=datetime.timezone.utc).timestamp()), "body": base64.b64encode(body).decode(),
    }
    if token:
        case["token"] = token
    if unsigned:
        case["unsigned"] = True
    if presigned:
        case["expires"] = expires
        case["signedTarget"] = request.url[len(f"{scheme}://{host}{port}"):]
    else:
        case["signed"] = {name: request.headers[name] for name in
                          ["Authorization", "X-Amz-Date", "X-Amz-Content-SHA256", "X-Amz-Security-Token"]
                          if name in request.headers}
    return case


class ExpressKeys:
    """Stands for botocore's cache of the sessions of S3 Express."""


def special_case(index):
    """What random requests rarely have: repeated names, a plus, hosts in mixed case, an encoded slash, S3 Express, chunks.

    Presigned URLs have no repeated names: botocore keeps the first of them alone.

    botocore signs some targets as they are written, and servers read them decoded. Where Curlew signs what servers read,
    botocore signs the target in that spelling (`read`).
    """
    global NOW
    NOW = datetime.datetime(2026, 1 + index % 12, 1 + index % 28, index % 24, index % 60, 7)
    kind = ["repeated", "plus", "host", "slash", "express", "chunks"][index % 6]
    is_s3 = kind in ("slash", "express", "chunks") or index // 6 % 2 == 0
    is_presigned = kind in ("plus", "slash", "express") and index // 12 % 2 == 1
    service = "s3express" if kind == "express" else "s3" if is_s3 else "execute-api"
    host = random.choice(["Bucket.S3.Amazonaws.COM", "EXAMPLE.com"]) if kind == "host" else "example.com"
    target, read = path(is_s3), None
    if kind == "repeated":
        pairs = [f"{name}={quoted(word(0, 3))}" for name in random.choices(["a", "b", "A", "a%20b", "%C3%A9"], k=6)]
        target += "?" + "&".join(pairs + random.choices(pairs, k=2))
    elif kind == "plus":
        text = "&".join(f"{quoted(word(1, 4))}+{number}={quoted(word(0, 3))}+{quoted(word(0, 3))}+" for number in range(3))
        target, read = f"{target}?{text}", f"{target}?{text.replace('+', '%20')}"
    elif kind == "slash":
        text = "".join(f"/{quoted(word(1, 4, 0))}%2{random.choice('fF')}{quoted(word(1, 4, 0))}" for _ in range(2))
        target, read = text, text.replace("%2f", "/").replace("%2F", "/")
    token = "FwoGZXIvYXdzEBYaD+/=" + word(20, 60, 0) if kind == "express" or random.random() < 0.5 else None
    secret = "".join(random.choice(UNRESERVED + "/+") for _ in range(40))
    credentials = Credentials("AKID" + word(8, 16, 0).replace("-", "x"), secret, token)
    fields = [] if is_presigned else headers()
    body = b"" if is_presigned or kind == "chunks" else random.randbytes(random.randint(0, 40))
    request = AWSRequest("PUT", f"https://{host}{read or target}", data=body)
    for name, value in fields:
        request.headers.add_header(name, value)
    if kind == "host":
        # HTTP sends the host as it was given, and botocore would sign it in lower case.
        request.headers["Host"] = host
    auth = botocore.auth
    arguments = [credentials, service, "us-east-1"]
    expires = random.randint(1, 604800)
    case = {"method": "PUT", "scheme": "https", "authority": host, "target": target, "fields": fields, "service": service,
            "region": "us-east-1", "accessKey": credentials.access_key, "secretKey": secret,
            "seconds": int(NOW.replace(tzinfo=datetime.timezone.utc).timestamp()), "body": base64.b64encode(body).decode()}
    if token:
        case["token"] = token
    if kind == "chunks":
        length, size = random.randint(0, 40000), random.choice([8192, 10000, 65536])
        request.headers["Content-Encoding"] = "aws-chunked"
        request.headers["X-Amz-Decoded-Content-Length"] = str(length)
        frames = [min(size, length - start) for start in range(0, length, size)] + [0]
        request.headers["Content-Length"] = str(sum(len(f"{count:x}") + 17 + 64 + 4 + count for count in frames))

        class Chunked(auth.S3SigV4Auth):
            def payload(self, request):
                return "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
        signer = Chunked(*arguments)
        signer.add_auth(request)
        previous = request.headers["Authorization"][-64:]
        stamp, empty, signatures = request.context["timestamp"], hashlib.sha256().hexdigest(), []
        for count in frames:
            text = "\n".join(["AWS4-HMAC-SHA256-PAYLOAD", stamp, signer.credential_scope(request), previous, empty,
                              hashlib.sha256(b"a" * count).hexdigest()])
            previous = signer.signature(text, request)
            signatures.append(previous)
        case["chunks"] = {"length": length, "size": size, "signatures": signatures}
    elif kind == "express":
        (auth.S3ExpressQueryAuth(*arguments, identity_cache=ExpressKeys(), expires=expires) if is_presigned
         else auth.S3ExpressAuth(*arguments, identity_cache=ExpressKeys())).add_auth(request)
    elif is_presigned:
        (auth.S3SigV4QueryAuth if is_s3 else auth.SigV4QueryAuth)(*arguments, expires).add_auth(request)
    else:
        (auth.S3SigV4Auth if is_s3 else auth.SigV4Auth)(*arguments).add_auth(request)
    if is_presigned:
        case["expires"] = expires
        signed = request.url[len(f"https://{host}"):]
        if read:
            case["signature"] = signed[-64:]
        else:
            case["signedTarget"] = signed
    else:
        case["signed"] = {name: request.headers[name] for name in
                          ["Authorization", "X-Amz-Date", "X-Amz-Content-SHA256", "X-Amz-Security-Token",
                           "X-Amz-S3session-Token"] if name in request.headers}
    return case


FILES = [
    "", "\n\n", "# only\n", "[default]\naws_access_key_id = AKID\naws_secret_access_key = secret\n",
    "[default]\naws_access_key_id=AKID\naws_secret_access_key=a=b:c\n[other]\naws_access_key_id : X\n",
    "[default]\r\naws_access_key_id = AKID\r\n; a comment\r\n  # another\r\naws_secret_access_key = se#cret ; no comment\r\n",
    "[a]\nname = first\n  second\n\tthird\nlast = 1\n", "[a]\nname = first\n\n\n  second\n\nlast = 1\n",
    "[a]\nname = first\n# comment\n  second\n", "[a]\ns3 =\n  x = 1\n  y = 2=3\nb = 1\n", "[a]\ns3 =\n  broken\n",
    "[a]\nNAME = 1\nname = 2\n", "[a]\nx=1\n[a]\ny=1\n", "x = 1\n", "  x = 1\n[a]\n", "[a]\nnothing\n", "[a]\n= 1\n", "[a]\n: 1\n",
    "[]\nx=1\n", "[a]\n[]\n", "[a]b]c\nx=1\n", "[a] trailing\nx=1\n", "[ a ]\nx=1\n", "[a\nx=1\n", " [a]\nx=1\n  y=2\n",
    "[DEFAULT]\nx = 1\ny = 2\n[a]\ny = 3\n[b]\n", "[DEFAULT]\nx = 1\n[DEFAULT]\ny = 2\n[a]\n", "[DEFAULT]\nx = 1\n[DEFAULT]\nx = 2\n[a]\n",
    "[default]\nx = 1\n[Default]\nx = 2\n", "[a]\nx =\n", "[a]\nx = \ny = 1\n", "[a]\nx:y=z\n", "[a]\nx=y:z\n", "[a]\nx y = z\n",
    "[a]\n   x = 1\n   y = 2\n      z = 3\n", "[a]\nx = 1\n y = 2\n z = 3\n", "[a]\n\tx = 1\n        y = 2\n", "[é]\nx=ü\n",
    "[e\u0301]\nx=1\n[\u00e9]\nx=2\n", "\ufeff[a]\nx=1\n", "[a]\nx\u00a0=\u00a01\u2003\n", "[a]\nx = 1\r y = 2\rz = 3\n", "[a]\nx=1",
    "[a]\nx = %(y)s\n", "[a]\nx = $HOME\n", "[a]\nx = \"quoted\"\n", "[profile a]\nx=1\n", "[a]\nx = 1\n[b]\n  y = 2\n",
    "[a]\nx = 1\n\n[b]\n\ny = 2\n\n\n", "[a]\nx = 1\x0by = 2\n", "[a]\nx = 1\x1c\n", "[a]\nX_Y-Z.1 = 1\n", "[a]\n#x = 1\n;y = 2\nz = 3\n",
    "[a]\nx = 1\n  ; comment\n  2\n", "[a]\ns3 =\n\n  x = 1\n", "[a]\ns3 =\n  # c\n  x = 1\n", "[a]\n[b]\n[c]\n", "[a]\nx == 1\n", "[a]\nİ = 1\n",
]


def file_case(text):
    with tempfile.NamedTemporaryFile("wb", delete=False) as file:
        file.write(text.encode())
    try:
        profiles = raw_config_parse(file.name)
    except ConfigParseError:
        profiles = None
    finally:
        os.unlink(file.name)
    return {"text": text, "profiles": profiles}


def random_file():
    pieces = ["[a]", "[b]", "[DEFAULT]", "x", "y", "=", ":", " ", "  ", "\t", "\n", "\n", "\n", "#", ";", "1", "]", "["]
    return "[p]\n" + "".join(random.choice(pieces) for _ in range(random.randint(3, 25)))


if __name__ == "__main__":
    requests = [request_case(index) for index in range(240)]
    files = [file_case(text) for text in FILES] + [file_case(random_file()) for _ in range(200)]
    requests += [special_case(index) for index in range(144)]
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "aws.json")
    with open(name, "w") as file:
        file.write('{"botocore":"%s","requests":[\n' % botocore.__version__)
        file.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in requests))
        file.write('\n],"files":[\n')
        file.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in files))
        file.write("\n]}\n")
    print(os.path.getsize(name), sum(case["profiles"] is None for case in files))

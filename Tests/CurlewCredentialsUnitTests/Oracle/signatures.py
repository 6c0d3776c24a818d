"""Writes signatures.json: structured fields that http-sf has read, and requests that http-message-signatures has signed.

`signatures.py FILE` checks requests that the tests have signed: see CURLEW_SIGNATURES_OUTPUT in SignatureOracleTests.swift.
The keys are those of RFC 9421.
"""
import base64
import datetime
import json
import os
import random
import re
import sys

import http_sf
from cryptography.hazmat.primitives import serialization
from http_message_signatures import HTTPMessageSigner, HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from http_message_signatures.exceptions import HTTPMessageSignaturesException

random.seed(46)
FOLDER = os.path.dirname(os.path.abspath(__file__))
KEYS = json.load(open(os.path.join(FOLDER, "rfc9421.json")))["keys"]
ALGORITHMS = {
    "test-key-rsa-pss": algorithms.RSA_PSS_SHA512, "test-key-rsa": algorithms.RSA_V1_5_SHA256,
    "test-key-ecc-p256": algorithms.ECDSA_P256_SHA256, "test-key-ed25519": algorithms.ED25519,
    "test-shared-secret": algorithms.HMAC_SHA256,
}


class Keys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id):
        if "secret" in KEYS[key_id]:
            return base64.b64decode(KEYS[key_id]["secret"])
        key = serialization.load_pem_private_key(KEYS[key_id]["private"].encode(), None)
        return key.public_key()

    def resolve_private_key(self, key_id):
        if "secret" in KEYS[key_id]:
            return base64.b64decode(KEYS[key_id]["secret"])
        return serialization.load_pem_private_key(KEYS[key_id]["private"].encode(), None)


class Fields:
    """Field lines in order, several of one name among them."""

    def __init__(self, lines):
        self.lines = [tuple(line) for line in lines]

    def items(self):
        return list(self.lines)

    def __iter__(self):
        return iter(dict.fromkeys(name for name, _ in self.lines))

    def __contains__(self, name):
        return any(field.lower() == name.lower() for field, _ in self.lines)

    def __getitem__(self, name):
        return ", ".join(value for field, value in self.lines if field.lower() == name.lower())

    def get(self, name, default=None):
        return self[name] if name in self else default

    def __setitem__(self, name, value):
        del self[name]
        self.lines.append((name, value))

    def __delitem__(self, name):
        self.lines = [line for line in self.lines if line[0].lower() != name.lower()]


class Request:
    def __init__(self, method, url, lines):
        self.method, self.url, self.headers = method, url, Fields(lines)


# MARK: Structured fields

PIECES = ["a", "b", "*x", "a-b", "A", "=", ",", ";", " ", " ", "\t", "(", ")", "1", "-", "0", "1.5", "1.25", "12345", "@1", "@",
          "?1", "?0", "?", ":", ":YQ==:", ":YQ:", ":Y:", '"', '"a"', '"\\""', "\\", "tok/en:x", "%\"a%c3%a9\"", "%\"", "%C3", "é",
          "-1.0", "999999999999999", "1000000000000000", "123456789012.123", "1234567890123.1", ".", "1.", "0.0", "-0", "00", "*"]
FIXED = ["", " ", "a=1", "a=1, a=2", "a;x;x=2", "a=(1 2);q=1, b", "a=(1  2 )", "a=(", "a=(1 2", "(1,2)", "a=()", "a=( )", "1;a=1;b", ", a",
         "a,", "a, ", "a,,b", "a=1 ,b=2", "a=1\t,\tb", "\ta", "a\t", " a ", '"a\x7f"', '"\t"', '"é"', "a;A=1", "a; b", "a ;b", "a;b =1", "a= 1",
         "-", "--1", "1-", "1e5", "+1", "@1.0", "@-1", "@-0", "?2", "?", ":YW Jj:", ":YWJj", "::", ":=:", ":====:", ":YWJ*:", '%"%"', '%"%c3%28"', '%"%C3%A9"',
         '%"a\x01"', '%""', "tok/en", "*tok", "1tok", "t{", "a=b=c", "a=:YQ==:;x=\"y\"", 'a="b\\c"', 'a="b', "*", "*=1", "a.b_c-d*=1", "a=1;b=2;a=3"]


def field_case(kind, text):
    try:
        value = http_sf.parse(text.encode("latin-1", "replace"), tltype=kind)
        result = http_sf.ser(value)
    except (http_sf.StructuredFieldError, ValueError):
        result = None
    return {"kind": kind, "text": text, "result": result}


def fields():
    cases = []
    for kind in ["dictionary", "list", "item"]:
        for text in FIXED:
            cases.append(field_case(kind, text))
        kept = 0
        while kept < 150:
            text = "".join(random.choice(PIECES) for _ in range(random.randint(1, 7)))
            case = field_case(kind, text)
            # Most random text is broken.
            if case["result"] is None and random.random() < 0.8:
                continue
            kept += 1
            cases.append(case)
    return cases


# MARK: Signatures

def value():
    return "".join(random.choice("abcXYZ019 -_.,;=\"'()/*") for _ in range(random.randint(0, 20))).strip()


def query_word(low):
    return "".join(random.choice(["a", "Z", "0", "%20", "+", "%C3%A9", "%22", "*", "-", "~", "!", "'", "(", "/", ":", "%2B", "%0A"])
                   for _ in range(random.randint(low, 5)))


def decoded(text):
    import urllib.parse
    return urllib.parse.unquote_plus(text)


def request_case(index):
    key = list(ALGORITHMS)[index % 5]
    lines = []
    for name in random.sample(["Content-Type", "Date", "X-One", "X-Two", "Accept", "Empty", "Cache-Control"], random.randint(0, 6)):
        for _ in range(2 if random.random() < 0.2 else 1):
            lines.append([name, "" if name == "Empty" else value() or "x"])
    if random.random() < 0.5:
        lines.append(["Example-Dict", random.choice(["a=1,  b=2;x=1;y=2,   c=(a   b   c), d", "a=?1,  d;q=1.50", "a=:YQ==:, b=@12, c=\"x\\\"y\""])])
        if random.random() < 0.3:
            lines.append(["Example-Dict", "e=5"])
    if random.random() < 0.3:
        lines.append(["Priority", random.choice(["u=1,i", "u=5 ,  i=?0"])])
    pairs = {query_word(1): query_word(0) for _ in range(random.randint(0, 3))}
    query = "&".join(name if not text and random.random() < 0.5 else f"{name}={text}" for name, text in pairs.items())
    target = random.choice(["/", "/foo", "/foo/b%2Far", "/a;b=c/..", "/%C3%A9"]) + (f"?{query}" if query or random.random() < 0.1 else "")
    scheme = random.choice(["http", "https"])
    authority = random.choice(["example.com", "EXAMPLE.com", "example.com:8443", "example.com:443", "example.com:80", "[::1]:8080"])
    components = [f'"{name}"' for name in ["@method", "@authority", "@scheme", "@path", "@query", "@request-target"] if random.random() < 0.5]
    # Curlew signs the host as the field Host carries it, without the scheme's own port.
    if not authority.endswith({"http": ":80", "https": ":443"}[scheme]) and index % 2 == 0:
        components.append('"@target-uri"')
    names = dict.fromkeys(name.lower() for name, _ in lines)
    for name in names:
        roll = random.random()
        if name == "example-dict":
            text = ", ".join(v for n, v in lines if n == "Example-Dict")
            components += [f'"{name}";key="{k}"' for k in http_sf.parse(text.encode(), tltype="dictionary") if random.random() < 0.6]
        elif name == "priority" and roll < 0.5:
            components.append(f'"{name}";sf')
        elif roll < 0.4:
            components.append(f'"{name}"')
        elif roll < 0.6:
            components.append(f'"{name}";bs')
    seen = [decoded(name) for name in pairs]
    for name in pairs:
        if seen.count(decoded(name)) == 1 and random.random() < 0.7:
            encoded = "".join(c if re.match(r"[A-Za-z0-9*\-._]", c) else "".join(f"%{b:02X}" for b in c.encode()) for c in decoded(name))
            components.append(f'"@query-param";name="{encoded}"')
    random.shuffle(components)
    created = datetime.datetime.fromtimestamp(random.randint(1_600_000_000, 1_900_000_000), datetime.timezone.utc)
    request = Request(random.choice(["GET", "POST", "PUT"]), f"{scheme}://{authority}{target}", lines)
    options = {"created": created, "label": random.choice(["sig1", "x", "*a.b"]), "include_alg": random.random() < 0.5}
    if random.random() < 0.3:
        options["nonce"] = value() + '"\\'
    if random.random() < 0.3:
        options["tag"] = value()
    if random.random() < 0.3:
        options["expires"] = created + datetime.timedelta(seconds=300)
    signer = HTTPMessageSigner(signature_algorithm=ALGORITHMS[key], key_resolver=Keys())
    try:
        prepared = signer.prepare(request, key_id=key, covered_component_ids=components, **options)
        signature = ALGORITHMS[key](private_key=Keys().resolve_private_key(key)).sign(prepared.signature_base)
        signer.apply(request, prepared, signature)
    except HTTPMessageSignaturesException as error:
        return None if "is not a" in str(error) else (_ for _ in ()).throw(error)
    return {
        "method": request.method, "scheme": scheme, "authority": authority, "target": target, "fields": lines, "key": key,
        "algorithm": ALGORITHMS[key].algorithm_id, "base": prepared.signature_base.decode(), "created": int(created.timestamp()),
        "input": request.headers["Signature-Input"], "signature": request.headers["Signature"],
    }


def check(path):
    requests = json.load(open(path))
    for case in requests:
        request = Request(case["method"], f"{case['scheme']}://{case['authority']}{case['target']}", case["fields"])
        verifier = HTTPMessageVerifier(signature_algorithm=ALGORITHMS[case["key"]], key_resolver=Keys())
        assert len(verifier.verify(request, max_age=datetime.timedelta(weeks=9000))) == 1
    print(len(requests), "requests are right by http-message-signatures")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        check(sys.argv[1])
    else:
        requests = [case for case in (request_case(index) for index in range(150)) if case]
        name = os.path.join(FOLDER, "signatures.json")
        with open(name, "w") as file:
            file.write('{"fields":[\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in fields()))
            file.write('\n],"requests":[\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in requests) + "\n]}\n")
        print(os.path.getsize(name), len(requests))

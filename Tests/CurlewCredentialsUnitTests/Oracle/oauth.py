"""Writes oauth.json: keys, and JSON Web Tokens that joserfc and PyJWT have signed with them.

`oauth.py FILE` checks tokens that the tests have signed: see CURLEW_ORACLE_OUTPUT in AssertionOracleTests.swift.
"""
import base64
import json
import os
import random
import sys

import joserfc.jws
import joserfc.jwk
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

random.seed(46)
NAME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oauth.json")


def pem(key, password=None):
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode()


def traditional(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()).decode()


def public(key):
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def text(low, high):
    return "".join(random.choice("abc XYZ019-._~/:\"\\\n\t\x01é漢🙂&=+%") for _ in range(random.randint(low, high)))


def write():
    rsa_key = rsa.generate_private_key(65537, 2048)
    p256 = ec.generate_private_key(ec.SECP256R1())
    keys = {
        "rsa": pem(rsa_key), "rsaPublic": public(rsa_key), "rsaTraditional": traditional(rsa_key),
        "rsaEncrypted": pem(rsa_key, b"open sesame"), "rsa1024": pem(rsa.generate_private_key(65537, 1024)),
        "p256": pem(p256), "p256Public": public(p256), "p256Traditional": traditional(p256),
        "p384": pem(ec.generate_private_key(ec.SECP384R1())), "p521": pem(ec.generate_private_key(ec.SECP521R1())),
        "k256": pem(ec.generate_private_key(ec.SECP256K1())), "ed25519": pem(ed25519.Ed25519PrivateKey.generate()),
    }
    assertions = []
    for index in range(120):
        algorithm = "RS256" if index % 2 == 0 else "ES256"
        case = {
            "algorithm": algorithm, "client": text(1, 12), "endpoint": "https://" + text(1, 20), "seconds": random.randint(0, 2**31),
            "identifier": random.randbytes(16).hex(), "library": "joserfc" if index % 4 < 2 else "PyJWT",
        }
        if random.random() < 0.5:
            # Both libraries escape letters beyond ASCII in headers, which is as good.
            case["keyID"] = text(0, 8).encode("ascii", "ignore").decode()
        if random.random() < 0.3:
            case["audience"] = text(1, 20)
        header = {"typ": "JWT", "alg": algorithm}
        if "keyID" in case:
            header["kid"] = case["keyID"]
        claims = {
            "iss": case["client"], "sub": case["client"], "aud": case.get("audience", case["endpoint"]), "jti": case["identifier"],
            "iat": case["seconds"], "exp": case["seconds"] + 300,
        }
        payload = json.dumps(claims, separators=(",", ":"), ensure_ascii=False).encode()
        raw = keys["rsa" if algorithm == "RS256" else "p256"]
        if case["library"] == "joserfc":
            key = (joserfc.jwk.RSAKey if algorithm == "RS256" else joserfc.jwk.ECKey).import_key(raw)
            case["token"] = joserfc.jws.serialize_compact(header, payload, key, [algorithm])
        else:
            case["token"] = jwt.api_jws.encode(payload, raw, algorithm, header, sort_headers=False)
        case["header"] = json.loads(base64.urlsafe_b64decode(case["token"].split(".")[0] + "=="))
        assert case.pop("header") == header
        assertions.append(case)
    with open(NAME, "w") as file:
        json.dump({"keys": keys, "assertions": assertions}, file, indent=0, ensure_ascii=False)
    print(os.path.getsize(NAME))


def check(path):
    with open(NAME) as file:
        keys = json.load(file)["keys"]
    with open(path) as file:
        tokens = json.load(file)
    for index, token in enumerate(tokens):
        algorithm = json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "==="))["alg"]
        raw = keys["rsaPublic" if algorithm == "RS256" else "p256Public"]
        jwt.decode(token, raw, [algorithm], options={"verify_exp": False, "verify_iat": False, "verify_aud": False})
        key = (joserfc.jwk.RSAKey if algorithm == "RS256" else joserfc.jwk.ECKey).import_key(raw)
        joserfc.jws.deserialize_compact(token, key, [algorithm])
    print(len(tokens), "tokens are right by joserfc and by PyJWT")


if __name__ == "__main__":
    check(sys.argv[1]) if len(sys.argv) > 1 else write()

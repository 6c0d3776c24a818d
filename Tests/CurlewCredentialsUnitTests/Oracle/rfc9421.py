"""Writes rfc9421.json: the keys, messages and signature bases of RFC 9421, from its text in Markdown (httpwg/http-extensions)."""
import json
import os
import re
import sys

text = open(sys.argv[1]).read()
blocks = []
for block in re.findall(r"\n~~~[^\n]*\n(.*?)\n~~~", text, re.S):
    if "NOTE: '\\' line wrapping" in block:
        block = re.sub(r"\\\n\s*", "", re.sub(r"NOTE: [^\n]*\n\n", "", block))
    blocks.append(block)


def message(block):
    head = block.split("\n\n")[0].split("\n")
    fields = []
    for line in head[1:]:
        if line.startswith((" ", "\t")):
            fields[-1][1] += " " + line.strip()
        else:
            name, _, value = line.partition(":")
            fields.append([name, value.strip()])
    found = {"start": head[0], "fields": fields}
    if "\n\n" in block:
        found["content"] = block.split("\n\n", 1)[1].strip("\n")
    return found


names = {"rsa-test": "test-key-rsa", "rsa-pss-test": "test-key-rsa-pss", "ecc-p256": "test-key-ecc-p256", "ed25519": "test-key-ed25519"}
keys = {}
for anchor, name in names.items():
    section = text[text.index("{#example-key-" + anchor + "}"):]
    pems = re.findall(r"-----BEGIN [A-Z ]+-----\n.*?-----END [A-Z ]+-----\n", section, re.S)[:2]
    keys[name] = {"public": pems[0], "private": pems[1]}
secret = re.search(r"\n~~~\n(?:NOTE:[^\n]*\n\n)?([A-Za-z0-9+/=\\\n ]+?)\n~~~", text[text.index("{#example-shared-secret}"):]).group(1)
keys["test-shared-secret"] = {"secret": re.sub(r"[\\\s]", "", secret)}

signed = []
for block in blocks:
    if "Signature-Input:" in block and re.match(r"(POST|GET) |HTTP/1.1 ", block):
        signed.append(message(block))
cases = text[text.index("\n## Test Cases"):text.index("\n## TLS-Terminating Proxies")]
requests = [message(block) for block in blocks if block.startswith("POST /foo") and "Content-Digest" in block and "Content-Length" in block and "Signature" not in block]
responses = [message(block) for block in blocks if block.startswith("HTTP/1.1 200") and "Content-Digest" in block]
additions = []
text_of_bases = "\n".join(blocks)
for block in blocks:
    if block.startswith("Signature-Input: sig-b2"):
        added = message("x\n" + block)["fields"]
        base = responses[-1] if "sig-b24" in block else requests[-1]
        if "sig-b24" in block:
            # The response of the draft has an older digest than the signature base of the same section, and than the RFC.
            digest = re.search(r'^"content-digest": (sha-512=:mEW.*)$', text_of_bases, re.M).group(1)
            base = {**base, "fields": [[n, digest if n == "Content-Digest" else v] for n, v in base["fields"]]}
        additions.append({**base, "fields": base["fields"] + added})
bases = [block for block in blocks if re.search(r'^"@signature-params": ', block, re.M)]
accepted = [block.split(": ", 1)[1] for block in blocks if block.startswith("Accept-Signature:")]
result = {"keys": keys, "signed": signed + additions, "bases": bases, "accept": accepted, "request": requests[-1]}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rfc9421.json")
with open(path, "w") as file:
    json.dump(result, file, indent=0)
print(len(signed), len(additions), len(bases), len(accepted), len(requests), len(responses), os.path.getsize(path))
for case in result["signed"]:
    print(case["start"], [f[1][:50] for f in case["fields"] if f[0] == "Signature-Input"])
print({k: {a: b[:30] for a, b in v.items()} for k, v in keys.items()})

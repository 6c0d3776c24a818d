"""Independent servers of uploads: tuspyserver for tus, moto for parts with presigned URLs. `make test-uploads` runs them.

The program prints its two addresses in a line, and ends when its input ends.
"""

import hashlib
import os
import socket
import sys
import tempfile
import threading

import boto3
import uvicorn
from fastapi import FastAPI
from moto.server import ThreadedMotoServer
from tuspyserver import create_tus_router

os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="us-east-1")
folder = tempfile.TemporaryDirectory()
moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
moto.start()
host, port = moto.get_host_and_port()
s3 = boto3.client("s3", endpoint_url=f"http://{host}:{port}")
s3.create_bucket(Bucket="films")

app = FastAPI()
app.include_router(create_tus_router(prefix="files", files_dir=folder.name, strict_offset_validation=True))


@app.get("/presign/{step}")
def presign(step: str, number: int = 0, upload: str = ""):
    method = {
        "create": "create_multipart_upload",
        "part": "upload_part",
        "complete": "complete_multipart_upload",
        "abort": "abort_multipart_upload",
    }[step]
    params = {"Bucket": "films", "Key": "film.mp4"}
    if upload:
        params["UploadId"] = upload
    if number:
        params["PartNumber"] = number
    return {"url": s3.generate_presigned_url(method, Params=params, ExpiresIn=60)}


@app.get("/object")
def s3_object():
    body = s3.get_object(Bucket="films", Key="film.mp4")["Body"].read()
    return {"length": len(body), "sha256": hashlib.sha256(body).hexdigest()}


@app.get("/uploads")
def uploads():
    return {"count": len(s3.list_multipart_uploads(Bucket="films").get("Uploads", []))}


@app.get("/stored/{name}")
def stored(name: str):
    body = open(os.path.join(folder.name, os.path.basename(name)), "rb").read()
    return {"length": len(body), "sha256": hashlib.sha256(body).hexdigest()}


listener = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
print(f"http://127.0.0.1:{listener.getsockname()[1]}", f"http://{host}:{port}", flush=True)
sys.stdin.read()
os._exit(0)

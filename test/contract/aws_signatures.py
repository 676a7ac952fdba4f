"""Signs the requests of aws_signatures_spec.lua (JSON on stdin) with botocore's signers."""

import base64
import datetime
import json
import sys
import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

NOW = datetime.datetime(2015, 8, 30, 12, 36, 0)
botocore.auth.get_current_datetime = lambda *_, **__: NOW
SIGNERS = {
    ("header", False): botocore.auth.SigV4Auth,
    ("header", True): botocore.auth.S3SigV4Auth,
    ("presign", False): botocore.auth.SigV4QueryAuth,
    ("presign", True): botocore.auth.S3SigV4QueryAuth,
}


def signature(case):
    key = Credentials("AKIDEXAMPLE", case["secret"], case["token"] or None)
    signer = SIGNERS[case["how"], case["service"] == "s3"]
    more = {"expires": case["expires"]} if case["how"] == "presign" else {}
    body = base64.b64decode(case["body"])
    request = AWSRequest(case["method"], case["url"], dict(case["headers"]), body)
    if case["service"] == "s3":  # what is sent in one piece is hashed over https, too
        request.context["payload_signing_enabled"] = True
    signer(key, case["service"], case["region"], **more).add_auth(request)
    if case["how"] == "presign":
        return request.url.rpartition("X-Amz-Signature=")[2]
    return request.headers["Authorization"].rpartition("Signature=")[2]


json.dump([signature(case) for case in json.load(sys.stdin)], sys.stdout)

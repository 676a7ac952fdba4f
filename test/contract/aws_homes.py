"""What botocore's own resolver finds in homes that aws_homes_spec.lua made (JSON on stdin).

For each case: the environment, and the answers that whoever is asked gives, in order. Prints for
each the keys found (or none), the region, an endpoint, and what was asked. Nothing leaves here.
"""

import json
import os
import sys
import time
import urllib.parse

time.sleep = lambda _: None  # before botocore keeps it: nobody answers better a second later

import botocore.awsrequest
import botocore.credentials
import botocore.exceptions
import botocore.httpsession
import botocore.loaders
import botocore.session
import botocore.tokens

LOADER = botocore.loaders.Loader()  # reads the models once, not for each home
SHOWN = ("Action", "RoleArn", "RoleSessionName", "ExternalId", "DurationSeconds")


class Raw:
    def __init__(self, body):
        self.body = body

    def stream(self, *_, **__):
        yield self.body


def summary(request):
    body = request.body
    if isinstance(body, bytes):
        body = body.decode()
    form = dict(urllib.parse.parse_qsl(body)) if isinstance(body, str) else body or {}
    said = {k: form[k] for k in SHOWN if k in form}
    if said.get("RoleSessionName", "").startswith("botocore-session-"):
        del said["RoleSessionName"]  # each program has a name of its own where none is given
    authorization = request.headers.get("Authorization", b"")
    if isinstance(authorization, bytes):
        authorization = authorization.decode()
    if authorization and not authorization.startswith("AWS4-"):
        said["authorization"] = authorization
    key = authorization.partition("Credential=")[2].partition("/")[0]
    return {"method": request.method, "url": request.url, "key": key, **said}


def look(case):
    os.environ.clear()
    os.environ.update(case["environment"])
    cache = os.path.expanduser("~/.aws/sso/cache")  # botocore looked when it was loaded
    botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR = cache
    botocore.tokens.SSOTokenProvider._SSO_TOKEN_CACHE_DIR = cache
    answers, asked = list(case["answers"]), []

    def send(_, request):
        asked.append(summary(request))
        if not answers:
            raise botocore.exceptions.ConnectTimeoutError(endpoint_url=request.url)
        answer = answers.pop(0)
        return botocore.awsrequest.AWSResponse(
            request.url, answer.get("status", 200), {}, Raw(answer["body"].encode())
        )

    botocore.httpsession.URLLib3Session.send = send
    found = {"asked": asked}
    try:
        session = botocore.session.Session(profile=case.get("profile"))
        session.register_component("data_loader", LOADER)
        region = session.get_config_variable("region")
        if region:
            found["region"] = region
        credentials = session.get_credentials()
        frozen = credentials and credentials.get_frozen_credentials()
        if frozen:
            found["keys"] = [frozen.access_key, frozen.secret_key, frozen.token or ""]
        if case.get("endpoint_of"):
            client = session.create_client(case["endpoint_of"], region_name="us-east-1")
            found["endpoint"] = client.meta.endpoint_url
    except Exception as error:  # what it says is for a person who reads a difference
        found["error"] = f"{type(error).__name__}: {error}"
    return found


json.dump([look(case) for case in json.load(sys.stdin)], sys.stdout)

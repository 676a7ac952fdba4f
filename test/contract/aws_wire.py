"""Compares requests that rtl made (JSON on stdin, from aws_wire_spec.lua) with botocore's own.

With the argument `answers`, prints answers instead: for each operation a body as the service sends
it and what botocore's parser reads in it, for rtl to read.
"""

import base64
import datetime
import json
import os
import sys
import urllib.parse
import xml.etree.ElementTree as ET
import botocore.session
from botocore.parsers import create_parser
from botocore.serialize import create_serializer

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "judge"))
from judge_selftest import sample
from judge_state import serialise_output

NAMES = {"ec2query": "ec2", "awsquery": "query"}
SKIPPED_HEADERS = {"content-md5"}
session = botocore.session.get_session()


def meant(shape, value):
    """Our parameters as botocore wants them: blobs are bytes, times dates."""
    kind = shape.type_name
    if kind == "structure":
        return {k: meant(shape.members[k], v) for k, v in value.items()}
    if kind == "list":
        return [meant(shape.member, v) for v in value]
    if kind == "map":
        return {k: meant(shape.value, v) for k, v in value.items()}
    if kind == "blob":
        return base64.b64decode(value)
    if kind == "timestamp":
        return datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    return value


def pairs(query):
    if isinstance(query, dict):
        query = [(k, w) for k, v in query.items() for w in (v if isinstance(v, list) else [v])]
    else:
        query = urllib.parse.parse_qsl(query or "", keep_blank_values=True)
    text = {True: "true", False: "false"}
    return sorted((k, text[v] if isinstance(v, bool) else str(v)) for k, v in query)


def tree(node):
    return node.tag, node.text or "", sorted(tree(child) for child in node)


def body_of(protocol, body):
    if isinstance(body, dict):
        return pairs(body)
    body = body.encode() if isinstance(body, str) else bytes(body or b"")
    if protocol in ("ec2", "query"):
        return pairs(body.decode())
    if body[:1] == b"{":
        return json.loads(body)
    return tree(ET.fromstring(body)) if body[:1] == b"<" else body


def parts_of(protocol, request):
    """Everything that must be equal, in one form."""
    path, _, fixed = request["url_path"].partition("?")
    query = pairs(fixed) + pairs(request["query_string"])
    headers = {k.lower(): v for k, v in request["headers"].items()}
    if protocol in ("rest-json", "rest-xml"):
        (
            headers.pop("content-type", None)
            if headers.get("content-type", "").startswith("application/")
            else None
        )
    return {
        "method": request["method"],
        "path": path,
        "query": sorted(query),
        "headers": {k: v for k, v in headers.items() if k not in SKIPPED_HEADERS},
        "body": body_of(protocol, request["body"]),
    }


def compare(case):
    protocol = NAMES.get(case["protocol"], case["protocol"])
    model = session.get_service_model(case["service"])
    op = model.operation_model(case["operation"])
    params = meant(op.input_shape, case["params"]) if op.input_shape is not None else {}
    theirs = parts_of(protocol, create_serializer(protocol, False).serialize_to_request(params, op))
    ours = parts_of(
        protocol, {**case["request"], "body": base64.b64decode(case["request"]["body"])}
    )
    return [
        f"{case['service']}:{case['operation']} {case['params']}: {key} is {ours[key]}, "
        f"botocore has {theirs[key]}"
        for key in ours
        if ours[key] != theirs[key]
    ]


def plain(value):
    """What botocore read, as JSON: dates are seconds, bytes base64."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    if hasattr(value, "read"):
        value = value.read()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def answer_of(protocol, op, value):
    status, headers, body = serialise_output(op, protocol, value)
    parsed = {"status_code": status, "headers": dict(headers), "body": body}
    read = create_parser(protocol).parse(parsed, op.output_shape)
    read.pop("ResponseMetadata", None)
    return {
        "status": status,
        "headers": {k.lower(): v for k, v in headers},
        "body": base64.b64encode(body).decode(),
        "read": plain(read),
    }


def answers(case):
    protocol = NAMES.get(case["protocol"], case["protocol"])
    op = session.get_service_model(case["service"]).operation_model(case["operation"])
    if op.output_shape is None or op.has_streaming_output:
        return []
    full = sample(op.output_shape)
    for name, member in op.output_shape.members.items():
        if member.serialization.get("location"):
            full.pop(name, None)
    return [answer_of(protocol, op, full), answer_of(protocol, op, {})]


def main():
    cases = json.load(sys.stdin)
    if sys.argv[1:] == ["answers"]:
        print(json.dumps([answers(case) for case in cases]))
    else:
        print("\n".join(text for case in cases for text in compare(case)))


main()

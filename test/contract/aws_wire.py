"""Compares requests that rtl made (JSON on stdin, from aws_wire_spec.lua) with botocore's own.

Compared is every byte that means something: order is free only where the protocol leaves it free
(parameters of a form or query, members of a JSON object), and so is the spelling of one value (%20
or +, escapes in JSON).  Prints a line for each difference.
"""

import base64
import datetime
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ET
import botocore.session
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator

NAMES = {"ec2query": "ec2", "awsquery": "query"}
# What rtl adds beside the serialized request: the signature, and checksums that botocore's handlers
# add later.
ADDED = {"user-agent", "content-md5", "authorization", "x-amz-date", "x-amz-content-sha256"}
session = botocore.session.get_session()


def meant(shape, value):
    """Our parameters as botocore wants them: in its order, blobs are bytes, times dates."""
    kind = shape.type_name
    if kind == "structure":
        return {k: meant(m, value[k]) for k, m in shape.members.items() if k in value}
    if kind == "list":
        return [meant(shape.member, v) for v in value]
    if kind == "map":
        return {k: meant(shape.value, v) for k, v in value.items()}
    if kind == "blob":
        return base64.b64decode(value)
    if kind == "timestamp":
        return datetime.datetime.fromtimestamp(value, datetime.timezone.utc)
    if kind in ("float", "double"):
        return float(value)
    return value


def scalar(value):
    """A value as the text that stands on the wire; an integral float is that integer."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def pairs(query):
    if isinstance(query, dict):
        query = [(k, w) for k, v in query.items() for w in (v if isinstance(v, list) else [v])]
    elif query:
        query = urllib.parse.parse_qsl(query, keep_blank_values=True, errors="strict")
    return sorted((k, scalar(v)) for k, v in query or ())


def tree(node):
    """An element; what is in it keeps its order."""
    return node.tag, sorted(node.attrib.items()), node.text or "", [tree(child) for child in node]


def unique(items):
    if len({key for key, _ in items}) != len(items):
        raise ValueError(f"a member stands twice in {items}")
    return dict(items)


def number(text):
    value = float(text)
    return int(value) if value.is_integer() else value


def json_text(body):
    """One spelling of a JSON text; 1 and true stay different, numbers keep each digit."""
    value = json.loads(body, object_pairs_hook=unique, parse_float=number)
    return json.dumps(value, sort_keys=True)


def body_of(protocol, body):
    if protocol in ("ec2", "query"):
        return pairs(body if isinstance(body, dict) else body.decode())
    body = body.encode() if isinstance(body, str) else bytes(body or b"")
    if protocol in ("json", "rest-json"):
        return json_text(body) if body else body
    return tree(ET.fromstring(body)) if body[:1] == b"<" else body


def parts_of(protocol, request):
    """Everything that must be equal, in one form."""
    path, _, fixed = request["url_path"].partition("?")
    headers = {k.lower(): v for k, v in request["headers"].items() if k.lower() not in ADDED}
    if protocol == "rest-xml" and headers.get("content-type") == "application/xml":
        del headers["content-type"]  # botocore sends none; libcurl would make one up
    return {
        "method": request["method"],
        "path": path,
        "query": sorted(pairs(fixed) + pairs(request["query_string"])),
        "headers": headers,
        "body": body_of(protocol, request["body"]),
    }


def compare(protocol, serializer, op, call):
    params = meant(op.input_shape, call["params"]) if op.input_shape is not None else {}
    if op.input_shape is not None:
        report = ParamValidator().validate(params, op.input_shape)
        if report.has_errors():
            return [f"botocore refuses {call['params']}: {report.generate_report()}"]
    theirs = parts_of(protocol, serializer.serialize_to_request(params, op))
    request = call["request"]
    ours = parts_of(protocol, {**request, "body": base64.b64decode(request["body"])})
    return [
        f"{call['params']}: {key} is {ours[key]}, botocore has {theirs[key]}"
        for key in ours
        if ours[key] != theirs[key]
    ]


def main():
    for group in json.load(sys.stdin):
        protocol = NAMES.get(group["protocol"], group["protocol"])
        op = session.get_service_model(group["service"]).operation_model(group["operation"])
        serializer = create_serializer(protocol, False)
        for call in group["calls"]:
            for text in compare(protocol, serializer, op, call):
                print(f"{group['service']}:{group['operation']} {text}")


main()

"""Which errors botocore tries again, for rtl to compare (names of services as JSON on stdin).

Prints codes with the status they come with: those of the standard mode's tables, those that
_retry.json has for all or for one of the services, and those that the models mark as retryable.
With the argument `settings`, prints for environments and profiles (JSON on stdin) which retry mode
and how many attempts a client takes from them, or what is wrong.
"""

import json
import os
import sys
import tempfile
import botocore.exceptions
import botocore.session
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker

session = botocore.session.get_session()
table = session.get_component("data_loader").load_data("_retry")


def conditions(policies):
    for policy in policies.values():
        if "$ref" in policy:
            policy = table["definitions"][policy["$ref"]]
        found = policy["applies_when"].get("response")
        if found and "crc32body" not in found:
            yield {"code": found.get("service_error_code"), "status": found["http_status_code"]}


def modelled(name):
    model = session.get_service_model(name)
    for shape in model.error_shapes:
        mark = shape.metadata.get("retryable")
        if mark is not None:
            error = shape.metadata.get("error", {})
            yield {
                "code": error.get("code", shape.name),
                "status": error.get("httpStatusCode", 400),
                "throttled": bool(mark.get("throttling")),
            }


def taken(case, folder):
    """Mode and attempts of a client, and how often it may try by them."""
    os.environ.clear()
    os.environ.update(case["environment"], HOME=folder, AWS_EC2_METADATA_DISABLED="true")
    os.environ["AWS_CONFIG_FILE"] = os.path.join(folder, "config")
    with open(os.environ["AWS_CONFIG_FILE"], "w", encoding="utf-8") as config:
        config.write("[default]\nregion = us-east-1\n" + case["profile"])
    try:
        client = botocore.session.Session().create_client("sts")
    except (botocore.exceptions.BotoCoreError, ValueError) as refusal:
        return {"error": str(refusal)}
    retries = client.meta.config.retries
    return {"mode": retries["mode"], "attempts": retries.get("total_max_attempts")}


def settings():
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([taken(case, folder) for case in json.load(sys.stdin)]))


def main():
    names = json.load(sys.stdin)
    rows = [
        {"code": code, "status": 400, "throttled": True}
        for code in ThrottledRetryableChecker._THROTTLED_ERROR_CODES
    ]
    rows += [
        {"code": code, "status": 400} for code in TransientRetryableChecker._TRANSIENT_ERROR_CODES
    ]
    rows += [
        {"code": None, "status": status}
        for status in TransientRetryableChecker._TRANSIENT_STATUS_CODES
    ]
    for name in ["__default__", *names]:
        found = table["retry"].get(name, {})
        rows += conditions(found.get("__default__", found).get("policies", {}))
    for name in names:
        rows += modelled(name)
    print(json.dumps([{k: v for k, v in row.items() if v is not None} for row in rows]))


settings() if sys.argv[1:] == ["settings"] else main()

"""What botocore's parsers read where rtl reads times: answers as JSON on stdin (aws_times_spec.lua).

Prints for each the seconds since 1970, or null where botocore refuses the whole answer.
"""

import json
import os
import sys
import time
import botocore.session
from botocore.awsrequest import HeadersDict
from botocore.parsers import ResponseParserError, create_parser

os.environ["TZ"] = "UTC"  # botocore reads numbers as times of the place where it runs
time.tzset()

NAMES = {"ec2query": "ec2", "awsquery": "query"}
session = botocore.session.get_session()


def read(case):
    model = session.get_service_model(case["service"]).operation_model(case["operation"])
    headers = HeadersDict(case["headers"])
    answer = {"status_code": 200, "headers": headers, "body": case["body"].encode()}
    parser = create_parser(NAMES.get(case["protocol"], case["protocol"]))
    try:
        found = parser.parse(answer, model.output_shape)
        for step in case["path"]:
            found = found[step]
        return found.timestamp() if found.tzinfo else "a time without a zone"
    except (ResponseParserError, ValueError, OverflowError, RuntimeError):
        return None


json.dump([read(case) for case in json.load(sys.stdin)], sys.stdout)

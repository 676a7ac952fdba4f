"""Python peers for test/bench/data.lua: nanoseconds for one round, 'none' where a package lacks."""
import json
import sys
import time


def best(work, rounds):
    times = []
    for _ in range(rounds):
        start = time.process_time_ns()
        work()
        times.append(time.process_time_ns() - start)
    return min(times)


def sigv4():
    try:
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
    except ImportError:
        return "none"
    signer = SigV4Auth(Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                       "eks", "us-east-2")

    def sign():
        signer.add_auth(AWSRequest("POST", "https://eks.us-east-2.amazonaws.com/clusters",
                                   {"content-type": "application/x-amz-json-1.1",
                                    "x-amz-target": "Service.Operation"},
                                   b'{"name":"ray-train"}'))
    return best(lambda: [sign() for _ in range(1000)], 5) / 1000


def main():
    what = sys.argv[1]
    if what == "sigv4":
        print(sigv4())
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    value = json.loads(text)
    work = {"decode": lambda: json.loads(text),
            "encode": lambda: json.dumps(value, sort_keys=True)}[what]
    print(best(work, 5))


main()

"""moto's server with the judge in front of it, in one process, on free ports.

Prints one line of JSON, {"url": …, "moto": …}, when both answer; ends on POST /_judge/stop, with
the process that started it, or when nobody has called for a while.  Options are the judge's own
(`judge.py --help`).
"""

import ctypes
import json
import os
import signal
import sys
import threading

os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"

import moto.iam.models
from moto.server import ThreadedMotoServer
from judge import Handler, Server, parse_options
from judge_eks import EksJudge

IDLE = 600  # seconds without a request after which nobody is there any more
POLICIES = ("AmazonEKS", "AmazonEC2ContainerRegistry", "AmazonSSMManaged", "AmazonS3")


class WatchedHandler(Handler):
    def handle_one_request(self):
        signal.alarm(IDLE)
        super().handle_one_request()


def keep_few_policies():
    """AWS has 1,500 managed policies and moto reads them all at each reset; a cluster needs few."""
    known = json.loads(moto.iam.models.aws_managed_policies_data)
    few = {name: policy for name, policy in known.items() if name.startswith(POLICIES)}
    moto.iam.models.aws_managed_policies_data = json.dumps(few)


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: nothing is left behind
    signal.alarm(IDLE)
    keep_few_policies()
    moto_server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto_server.start()
    host, port = moto_server.get_host_and_port()
    upstream = f"http://{host}:{port}"
    Handler.judge = EksJudge(parse_options(["--port", "0", "--upstream", upstream, *sys.argv[1:]]))
    server = Server(("127.0.0.1", 0), WatchedHandler)
    Handler.stop = lambda _: threading.Thread(target=server.shutdown).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}", "moto": upstream}), flush=True)
    server.serve_forever()
    os._exit(0)  # threads that wait on kept connections must not hold it up


if __name__ == "__main__":
    main()

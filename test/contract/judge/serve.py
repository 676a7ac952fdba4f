"""moto's server with the judge in front of it, in one process, on free ports.

Prints one line of JSON, {"url": …, "moto": …}, when both answer; ends on POST /_judge/stop, or with
the process that started it.  Options are the judge's own (`judge.py --help`).
"""

import ctypes
import json
import signal
import sys
import threading
from moto.server import ThreadedMotoServer
from judge import Handler, Judge, Server, parse_options

IDLE = 300  # seconds without a connection after which nobody is there any more


class WatchedHandler(Handler):
    def setup(self):
        signal.alarm(IDLE)
        super().setup()


def main():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: nothing is left behind
    signal.alarm(60)  # dies when it is not ready by then
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    upstream = f"http://{host}:{port}"
    Handler.judge = Judge(parse_options(["--port", "0", "--upstream", upstream, *sys.argv[1:]]))
    server = Server(("127.0.0.1", 0), WatchedHandler)
    Handler.stop = lambda: threading.Thread(target=server.shutdown).start()
    print(
        json.dumps({"url": f"http://127.0.0.1:{server.server_port}", "moto": upstream}), flush=True
    )
    signal.alarm(IDLE)
    server.serve_forever()
    moto.stop()


if __name__ == "__main__":
    main()

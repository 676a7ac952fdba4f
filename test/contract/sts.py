"""An STS for the verifier of cluster tokens: GetCallerIdentity, its signature held to botocore's.

Reads one line of JSON, {access key: {"secret", "token" or null, "arn", "user_id"}}; prints its
port; serves until its standard input ends. Answers as the real one does: JSON for who accepts it,
presigned requests for 15 minutes from their date, whatever X-Amz-Expires says.
"""

import datetime
import http.server
import json
import os
import sys
import threading
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "judge"))
from judge_signature import Request, check_signature

VALID = datetime.timedelta(minutes=15)


def too_old(query):
    date = datetime.datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    return abs(now - date) > VALID


class Sts(http.server.BaseHTTPRequestHandler):
    known = {}

    def do_GET(self):
        request = Request("GET", self.path, list(self.headers.items()), b"")
        query = dict(urllib.parse.parse_qsl(request.query))
        secrets = {key: (who["secret"], who["token"]) for key, who in self.known.items()}
        problems = []
        signed = check_signature(request, secrets, False, problems)
        if not signed or signed[0] != "sts":
            problems.append("not signed for sts")
        if self.headers["host"] not in (
            f"sts.{signed[1]}.amazonaws.com",
            f"sts-fips.{signed[1]}.amazonaws.com",
            f"sts.{signed[1]}.amazonaws.com.cn",
        ):
            problems.append("signed for another region than that of the host")
        if too_old(query):
            problems.append("Signature expired")
        if problems:
            return self.reply(403, {"Error": {"Code": "SignatureDoesNotMatch", "Message": problems}})
        who = self.known[signed[2]]
        result = {"Arn": who["arn"], "UserId": who["user_id"], "Account": who["arn"].split(":")[4]}
        self.reply(200, {"GetCallerIdentityResponse": {"GetCallerIdentityResult": result}})

    def reply(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def main():
    Sts.known = json.loads(sys.stdin.readline())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sts)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


main()

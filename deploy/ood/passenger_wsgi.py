"""The page of the federation within Open OnDemand.

Open OnDemand runs this as the user who has signed in there. It passes each request on to the daemon's socket, where the kernel says who asks: there is nothing to sign in to,
and no secret here. It needs Python 3.6 and nothing else. To try it without Open OnDemand: python3 passenger_wsgi.py 8080
"""

import http.client
import os
import socket
import sys
from urllib.parse import quote

SOCKET = os.environ.get("FSUB_SOCKET", "/run/fsub/fsub.sock")

# What the daemon is to know of a browser's request. Cookies are those of Open OnDemand, and stay here.
PASSED = ("Accept", "Host", "If-None-Match", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "User-Agent")
# What belongs to one connection, and is not passed back.
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}
LARGEST_FORM = 1 << 20  # the daemon takes no more either


class Daemon(http.client.HTTPConnection):
    """A connection to the daemon's socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(SOCKET)


def headers_of(environ, length):
    headers = {}
    for name in PASSED:
        value = environ.get("HTTP_" + name.upper().replace("-", "_"))
        if value:
            headers[name] = value
    headers["X-Forwarded-Prefix"] = environ.get("SCRIPT_NAME", "")
    if length:
        headers["Content-Type"] = environ.get("CONTENT_TYPE", "")
        headers["Content-Length"] = str(length)
    return headers


def sentence(start_response, status, text):
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")])
    return [(text + "\n").encode()]


def application(environ, start_response):
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return sentence(start_response, "400 Bad Request", "Content-Length is not a number.")
    if not 0 <= length <= LARGEST_FORM:
        return sentence(start_response, "413 Content Too Large", "The form is too large.")
    path = "/web" + quote(environ.get("PATH_INFO", "").encode("latin-1") or b"/")
    if environ.get("QUERY_STRING"):
        path += "?" + environ["QUERY_STRING"]
    daemon = Daemon("daemon", timeout=60)
    try:
        body = environ["wsgi.input"].read(length) if length else None
        daemon.request(environ["REQUEST_METHOD"], path, body, headers_of(environ, length))
        answer = daemon.getresponse()
    except (OSError, http.client.HTTPException) as e:
        daemon.close()
        return sentence(start_response, "503 Service Unavailable", "The daemon of the federation does not answer at %s: %s." % (SOCKET, e))
    headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP]
    start_response("%d %s" % (answer.status, answer.reason), headers)
    return chunks(daemon, answer)


def chunks(daemon, answer):
    try:
        while True:
            part = answer.read(1 << 16)
            if not part:
                return
            yield part
    finally:
        daemon.close()


def main():
    """Serves the app to this machine alone, below the path that Open OnDemand has for it."""
    from wsgiref.simple_server import make_server

    prefix = "/pun/sys/fsub"

    def below(environ, start_response):
        path = environ["PATH_INFO"]
        if path != prefix and not path.startswith(prefix + "/"):
            start_response("302 Found", [("Location", prefix + "/")])
            return []
        environ["SCRIPT_NAME"], environ["PATH_INFO"] = prefix, path[len(prefix):] or "/"
        return application(environ, start_response)

    server = make_server("127.0.0.1", int(sys.argv[1]), below)
    print("http://127.0.0.1:%d%s/" % (server.server_port, prefix), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

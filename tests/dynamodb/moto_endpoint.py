"""moto's server, as a program that says where it is, and ends with its stdin.

Like `moto_server`, but one request at a time: moto checks a condition and writes in two steps, and between them its threads would
let another request in, which DynamoDB never does.
"""

import sys
import threading

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class OneAtATime:
    """The whole answer is made under one lock."""

    def __init__(self, app):
        self.app, self.lock = app, threading.Lock()

    def __call__(self, environ, start_response):
        with self.lock:
            return [b"".join(self.app(environ, start_response))]


class Quiet(WSGIRequestHandler):
    """Keeps connections, sends at once, and no log."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log(self, *_):
        """Nobody reads it."""


def main():
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    # The first call of a service loads it, which takes longer than a client waits.
    client = boto3.client(
        "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    client.list_tables()
    print(f"moto {url}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

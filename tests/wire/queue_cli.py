"""The Queue door through the command line, and so through the Rust client."""

import json
import re
import subprocess
import tempfile

from decision import Decision, Refused
from queue_http import HttpQueues
from server import BINARY, clean_environment


class CliQueues:
    """`tidegate queue|enqueue|consume|...`, one process a call."""

    streams = False

    def __init__(self, server, namespace=None):
        self.server = server
        self.namespace = namespace

    def close(self):
        """Nothing stays open."""

    def _run(self, *words, payload=b""):
        options = ["--json", "--server", "{}:{}".format(*self.server.resp)]
        options += ["--namespace", self.namespace] if self.namespace else []
        done = subprocess.run(
            [BINARY, *map(str, words), *options],
            env=clean_environment(),
            input=payload,
            capture_output=True,
            timeout=60,
        )
        said = done.stderr.decode()
        if done.returncode == 0 or done.stdout or "no message came" in said:
            return [json.loads(line) for line in done.stdout.splitlines()]
        refused = re.search(r"refused \(([a-z_]+)\)", said)
        assert refused, said
        raise Refused(refused[1], said)

    def _one(self, *words, payload=b""):
        (document,) = self._run(*words, payload=payload)
        return document

    def _configured(self, verb, name, settings):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(settings, file)
            file.flush()
            return self._one("queue", verb, name, "--settings", file.name)

    def create(self, name, **settings):
        return self._configured("create", name, settings)

    def update(self, name, **settings):
        return self._configured("update", name, settings)

    def delete(self, name):
        self._run("queue", "delete", name)

    def list(self):
        return self._one("queue", "list")["queues"]

    def inspect(self, name):
        return self._one("queue", "inspect", name)

    def flows(self, name):
        return self._one("stats", name)["flows"]

    def purge(self, name):
        return self._one("queue", "purge", name)["purged"]

    def pause(self, name):
        return self._one("queue", "pause", name)

    def resume(self, name):
        return self._one("queue", "resume", name)

    def redrive(self, name, count=None):
        return self._one("redrive", name, *([] if count is None else ["--count", count]))["redriven"]

    def enqueue(self, queue, payload, **fields):
        words = []
        for flag, field in [("key", "key"), ("weight", "weight"), ("cost", "cost"), ("delay", "delay_ms"), ("at", "at_ms")]:
            if fields.get(field) is not None:
                words += [f"--{flag}", fields[field]]
        for key in fields.get("throttle", []):
            words += ["--throttle", key]
        for key, amount in fields.get("charges", {}).items():
            words += ["--charge", f"{key}={amount}"]
        for entity, resource, cost in fields.get("entity_charges", []):
            for limit, amount in cost.items():
                words += ["--charge", f"{entity}/{resource}/{limit}={amount}"]
        for name, value in fields.get("headers", {}).items():
            words += ["--header", f"{name}={value}"]
        return self._one("enqueue", queue, "--file", "-", *words, payload=payload)["id"]

    def enqueue_batch(self, messages):
        results = []
        for queue, payload, fields in messages:
            try:
                results.append(self.enqueue(queue, payload, **fields))
            except Refused as refused:
                results.append(refused)
        return results

    def receive(self, queue, count=1, wait_ms=0):
        documents = self._run("consume", queue, "--count", count, "--wait", wait_ms)
        return [HttpQueues._message(document) for document in documents]

    def _each(self, verb, queue, receipts, *options):
        results = self._one(verb, queue, *receipts, *options)["results"]
        outcomes = [HttpQueues._result(result) for result in results]
        return [outcome if isinstance(outcome, Refused) else None for outcome in outcomes]

    @staticmethod
    def _cost(cost):
        return [word for limit, amount in (cost or {}).items() for word in ("--cost", f"{limit}={amount}")]

    def ack(self, queue, *receipts, cost=None):
        return self._each("ack", queue, receipts, *self._cost(cost))

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None, cost=None):
        options = [] if delay_ms is None else ["--delay", delay_ms]
        options += [] if error is None else ["--error", error]
        options += [] if close is None else ["--close", close[0], "--retry-after", close[1]]
        options += self._cost(cost)
        return self._each("nack", queue, receipts, *options)

    def set_limit(self, key, burst, count, period):
        return self._one("limit", "set", key, "--burst", burst, "--count", count, "--period", period)

    def get_limit(self, key):
        return self._one("limit", "get", key)

    def list_limits(self):
        return self._one("limit", "list")["limits"]

    def del_limit(self, key):
        self._run("limit", "del", key)

    def take_limit(self, key, quantity=1):
        return Decision(**self._one("limit", "take", key, "--quantity", quantity))

    def close_limit(self, key, ms):
        self._run("limit", "close", key, ms)

    def set_setting(self, key, value):
        self._run("setting", "set", key, value)

    def get_setting(self, key):
        return self._one("setting", "get", key)["value"]

    def list_settings(self, prefix=""):
        return {item["key"]: item["value"] for item in self._one("setting", "list", prefix)["settings"]}

    def del_setting(self, key):
        self._run("setting", "del", key)

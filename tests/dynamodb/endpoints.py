"""What stands in for DynamoDB: moto, or the emulator, behind a proxy that a test may order faults from."""

import os
import pathlib
import subprocess
import sys

import boto3
import httpx
from server import ROOT
from store import REGION

EMULATOR_BIN = os.environ.get("EMULATOR_BIN", str(ROOT / "target/debug/tidegate-emulator"))


class Program:
    """A child that says where it is, a line for each name, and ends when its stdin does."""

    def __init__(self, command, *names):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.urls = {}
        while not self.urls.keys() >= set(names):
            line = self.process.stdout.readline()
            assert line, f"{command} ended with {self.process.wait()}"
            name, url = line.split()
            self.urls[name] = url

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=20)
        self.process.stdout.close()


class Proxy:
    """Passes everything on, except for what it is told. Rules are those of `crates/emulator`."""

    def __init__(self, url):
        self.url = url
        self.http = httpx.Client(base_url=url, timeout=20)

    def _order(self, *orders):
        told = self.http.post("/_proxy", json=list(orders)).json()
        assert "error" not in told, told
        return told["counts"]

    def fault(self, kind, operation=None, times=None, naming=None, after=0):
        """Happens to the calls that are named, or to all, until `clear`."""
        self._order({"add": {"fault": kind, "operation": operation, "times": times, "naming": naming, "after": after}})

    def latency_ms(self, ms):
        self._order({"latency_ms": ms})

    def date_offset_ms(self, ms):
        self._order({"date_offset_ms": ms})

    def release(self):
        self._order("release")

    def down(self):
        self._order("down")

    def silent(self):
        self._order("silent")

    def up(self):
        self._order("up")

    def clear(self):
        self._order("clear")

    def forget(self):
        self._order("forget")

    def counts(self):
        """How many calls of each operation have come."""
        return self._order()

    def count(self, *operations):
        counts = self.counts()
        return sum(counts.get(operation, 0) for operation in operations)

    def close(self):
        self.http.close()


class Endpoint:
    """Where a table can be: directly, or through the proxy."""

    def __init__(self, direct, proxy, programs):
        self.url, self.proxy, self._programs = direct, Proxy(proxy), programs
        self.dynamodb = boto3.client(
            "dynamodb", endpoint_url=direct, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
        )

    @classmethod
    def moto(cls):
        moto = Program([sys.executable, str(pathlib.Path(__file__).with_name("moto_endpoint.py"))], "moto")
        url = moto.urls["moto"]
        proxy = Program([EMULATOR_BIN, url.removeprefix("http://")], "proxy")
        return cls(url, proxy.urls["proxy"], [proxy, moto])

    @classmethod
    def emulator(cls):
        program = Program([EMULATOR_BIN], "emulator", "proxy")
        return cls(program.urls["emulator"], program.urls["proxy"], [program])

    def close(self):
        self.proxy.close()
        self.dynamodb.close()
        for program in self._programs:
            program.close()

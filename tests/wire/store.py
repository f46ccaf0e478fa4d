"""Where servers keep entities and limits: in their data directory, or, with WIRE_STORE=dynamodb, in a table on the emulator.

Every data directory has a table of its own, so that a server that starts again on one finds what it had.
"""

import atexit
import functools
import hashlib
import os
import subprocess

ON_DYNAMODB = os.environ.get("WIRE_STORE") == "dynamodb"

# What cannot be the same on a table, and why. By the name of the test. What is promised there instead has its own tests.
_OF_A_CRASH = "what a crash may forget differs: a minute of usage, and slices (tests/dynamodb/test_nodes_ends.py)"
NOT_ON_DYNAMODB = {
    "test_kill_9_forgets_one_flush_interval_at_most": _OF_A_CRASH,
    "test_what_was_flushed_survives_kill_9_exactly": _OF_A_CRASH,
    "test_data_of_a_server_that_knew_throttle_keys_only": "it is about limits in an old data directory",
    "test_an_unavailable_store_blocks_or_allows_as_was_said": (
        "it is about a full disk, and limits are not on it (tests/dynamodb/test_faults_outage.py)"
    ),
}

REGION = "us-east-1"

# No chain of credentials may reach further than this: nothing here is for AWS.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}

# An emulator shares its machine with the tests: it may be late without being gone.
PATIENT = {"REQUEST_TIMEOUT_MS": "4000", "TIMEOUT_MS": "10000"}


@functools.cache
def _endpoint():
    """One emulator for all tests; it ends when our end of its stdin is gone."""
    program = subprocess.Popen([os.environ["EMULATOR_BIN"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(program.stdin.close)
    name, url = program.stdout.readline().split()
    assert name == "emulator", name
    return url


@functools.cache
def _variables(data_dir, run_tidegate):
    table = "wire-" + hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]
    endpoint = _endpoint()
    made = run_tidegate("dynamodb", "create-table", "--table", table, "--endpoint", endpoint, env=CREDENTIALS)
    assert made.returncode == 0, made.stderr
    ledger = {"KIND": "dynamodb", "TABLE": table, "ENDPOINT": endpoint} | PATIENT
    return {f"TIDEGATE_LEDGER_{name}": value for name, value in ledger.items()} | CREDENTIALS


def variables(data_dir, run_tidegate):
    """What a server on that directory finds in its environment."""
    return _variables(data_dir, run_tidegate) if ON_DYNAMODB else {}

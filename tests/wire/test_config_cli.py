"""Configuration from file, environment and flags, and the commands of the binary."""

import json
import subprocess

import pytest

from clients import Resp
from decision import Limit
from server import ANY_PORT, run_tidegate


def printed(*args, **kwargs):
    """The configuration as JSON."""
    done = run_tidegate("config", "print", "--format", "json", *args, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def config_file(tmp_path):
    def write(text):
        path = tmp_path / "tidegate.toml"
        path.write_text(text)
        return path

    return write


def test_the_defaults_are_those_of_the_documentation():
    config = printed()
    assert config["http"]["address"] == "127.0.0.1:8080"
    assert config["resp"]["address"] == "127.0.0.1:6380"
    assert config["msgpack"]["address"] == "127.0.0.1:9090"
    assert config["data_dir"] == "./tidegate-data"
    assert config["persistence"]["flush_interval_ms"] == 200


def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(config_file):
    path = config_file("[resp]\nmax_connections = 1\nmax_pipeline = 1\nmax_frame_bytes = 2000\n")
    env = {"TIDEGATE_RESP_MAX_CONNECTIONS": "2", "TIDEGATE_RESP_MAX_PIPELINE": "2"}
    resp = printed(f"--config={path}", "--resp-max-connections=3", env=env)["resp"]
    assert (resp["max_connections"], resp["max_pipeline"], resp["max_frame_bytes"]) == (3, 2, 2000)


def test_what_is_printed_can_be_read_again(config_file):
    text = run_tidegate("config", "print", "--resp-max-connections=7").stdout
    assert printed(f"--config={config_file(text)}")["resp"]["max_connections"] == 7


def test_a_good_configuration_passes_the_check(config_file):
    path = config_file('log_level = "debug"')
    done = run_tidegate("config", "check", f"--config={path}")
    assert done.returncode == 0, done.stderr


BAD_FILES = {
    "unknown key": ("[resp]\nmax_conections = 1\n", "max_conections"),
    "unknown section": ("[respp]\nenabled = true\n", "respp"),
    "wrong type": ("[resp]\nmax_connections = 'many'\n", "max_connections"),
    "out of bounds": ("[resp]\nmax_connections = 0\n", "max_connections"),
    "not TOML": ("[resp\n", "tidegate.toml"),
    "half a default limit": ("[limits]\ndefault_burst = 1\n", "default_"),
    "not an address": ("[http]\naddress = 'nowhere'\n", "address"),
}


@pytest.mark.parametrize("text, named", BAD_FILES.values(), ids=BAD_FILES)
@pytest.mark.parametrize("command", [["config", "check"], ["serve"]], ids=["check", "serve"])
def test_a_mistake_is_named_with_a_hint(config_file, command, text, named):
    done = run_tidegate(*command, f"--config={config_file(text)}")
    assert done.returncode != 0
    assert named in done.stderr
    assert "hint" in done.stderr.lower()
    assert "panicked" not in done.stderr


@pytest.mark.parametrize(
    "arguments, env, named",
    [
        (["--config=/nowhere/tidegate.toml"], {}, "/nowhere/tidegate.toml"),
        (["--no-such-flag=1"], {}, "--no-such-flag"),
        ([], {"TIDEGATE_RESP_MAX_CONECTIONS": "1"}, "TIDEGATE_RESP_MAX_CONECTIONS"),
        ([], {"TIDEGATE_LOG_LEVEL": "loud"}, "TIDEGATE_LOG_LEVEL"),
    ],
    ids=["no file", "unknown flag", "unknown variable", "bad variable"],
)
def test_a_mistake_outside_the_file_is_named_too(arguments, env, named):
    done = run_tidegate("config", "check", *arguments, env=env)
    assert done.returncode != 0 and named in done.stderr


def test_the_token_is_not_printed():
    done = run_tidegate("config", "print", env={"TIDEGATE_AUTH_TOKEN": "open-sesame"})
    assert done.returncode == 0 and "open-sesame" not in done.stdout


def test_the_server_says_where_each_door_is(server):
    assert server.banner[0].startswith("tidegate ")
    assert all((server.http, server.resp, server.msgpack))
    assert server.banner[-1] == f"try: redis-cli -p {server.resp[1]} THROTTLE user:42 10 60 60"


def test_a_door_can_be_closed(start_server):
    server = start_server("--http-enabled=false", "--msgpack-enabled=false")
    assert (server.http, server.msgpack) == (None, None)
    assert Resp(server).throttle(b"k", Limit(1, 1, 60)).allowed


def test_a_port_that_is_taken_is_told_with_a_hint(server, tmp_path):
    host, port = server.resp
    done = run_tidegate(
        "serve", f"--http={ANY_PORT}", f"--msgpack={ANY_PORT}", f"--resp={host}:{port}", f"--data-dir={tmp_path}"
    )
    assert done.returncode != 0
    assert f"{host}:{port}" in done.stderr and "hint" in done.stderr.lower()


def test_logs_can_be_json(start_server):
    server = start_server("--log-format=json")
    assert server.stop() == 0
    lines = server.log().splitlines()
    assert lines and all(isinstance(json.loads(line), dict) for line in lines)


def test_throttle_asks_a_server(server, key):
    host, port = server.resp
    ask = ["throttle", key.decode(), "--burst", "2", "--count", "1", "--period", "60", "--server", f"{host}:{port}"]
    answers = [run_tidegate(*ask) for _ in range(3)]
    assert all(answer.stdout for answer in answers), answers[0].stderr
    assert [answer.returncode for answer in answers[:2]] == [0, 0]
    assert answers[2].returncode != 0
    assert answers[2].stdout != answers[1].stdout


def test_throttle_without_a_server_says_what_to_do():
    done = run_tidegate("throttle", "k", "--burst", 2, "--count", 1, "--period", 60, "--server", "127.0.0.1:1")
    assert done.returncode != 0
    assert "127.0.0.1:1" in done.stderr and "hint" in done.stderr.lower()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(shell):
    done = run_tidegate("completions", shell)
    assert done.returncode == 0 and "serve" in done.stdout
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=True)


def test_bench_ask_is_there():
    done = run_tidegate("bench", "ask", "--help")
    assert done.returncode == 0 and "--" in done.stdout


def test_help_and_version_are_on_stdout():
    assert "serve" in run_tidegate("--help").stdout
    assert run_tidegate("--version").stdout.startswith("tidegate ")

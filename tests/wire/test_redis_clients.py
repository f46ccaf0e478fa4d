"""Redis clients that people use connect without complaint, with both protocol versions."""

import json
import pathlib
import subprocess

import pytest
import redis

NODE = pathlib.Path(__file__).parent / "node"
BOTH = pytest.mark.parametrize("protocol", [2, 3])


def run(*command, **kwargs):
    """Runs a client to its end; anything on stderr is a complaint."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **kwargs)
    assert done.returncode == 0 and not done.stderr, done
    return done.stdout


@BOTH
def test_redis_py(server, key, protocol):
    host, port = server.resp
    client = redis.Redis(host=host, port=port, protocol=protocol, client_name="wire", decode_responses=True)
    assert client.ping()
    assert client.echo("hello") == "hello"
    assert client.info()["redis_version"]
    assert client.client_getname() == "wire"
    assert client.client_id() > 0
    assert client.execute_command("THROTTLE", key, 10, 100, 60) == [1, 10, 9, 1, 0]
    client.close()


@BOTH
def test_redis_py_pipeline_of_1000(server, key, protocol):
    host, port = server.resp
    client = redis.Redis(host=host, port=port, protocol=protocol)
    pipeline = client.pipeline(transaction=False)
    for _ in range(1000):
        pipeline.execute_command("THROTTLE", key, 1000, 1, 3600)
    assert [reply[2] for reply in pipeline.execute()] == list(reversed(range(1000)))
    client.close()


@BOTH
def test_redis_py_is_told_that_there_are_no_transactions_and_nothing_is_run(server, key, protocol):
    host, port = server.resp
    client = redis.Redis(host=host, port=port, protocol=protocol)
    pipeline = client.pipeline()
    for _ in range(2):
        pipeline.execute_command("THROTTLE", key, 10, 1, 3600)
    with pytest.raises(redis.ResponseError, match="there are no transactions.*transaction=False"):
        pipeline.execute()
    assert client.execute_command("THROTTLE", key, 10, 1, 3600)[2] == 9
    client.close()


@pytest.mark.parametrize("client, protocol", [("node-redis", 2), ("node-redis", 3), ("ioredis", 2)])
def test_node_clients(server, key, client, protocol):
    output = run("node", NODE / f"{client}.js", *server.resp, protocol, key.decode())
    replies = json.loads(output)
    assert replies == {
        "ping": "PONG",
        "echo": "hello",
        "first": [1, 2, 1, 1800, 0],
        "pipeline": [[1, 2, 0, 3600, 0], [0, 2, 0, 3600, 1800]],
        "cell": [0, 16, 15, -1, 2],
    }


def redis_cli(server, *words):
    host, port = server.resp
    return run("redis-cli", "-h", host, "-p", port, *words).split("\n")[:-1]


@pytest.mark.parametrize("version", ["-2", "-3"])
def test_redis_cli(server, key, version):
    assert redis_cli(server, version, "PING") == ["PONG"]
    assert redis_cli(server, version, "THROTTLE", key.decode(), 10, 100, 60) == ["1", "10", "9", "1", "0"]
    assert "redis_version" in "\n".join(redis_cli(server, version, "INFO"))


def test_redis_cli_with_commands_from_stdin(server, key):
    host, port = server.resp
    commands = f"PING\nTHROTTLE {key.decode()} 2 1 60\nCOMMAND COUNT\n"
    lines = run("redis-cli", "-h", host, "-p", port, input=commands).split("\n")
    assert lines[:6] == ["PONG", "1", "2", "1", "60", "0"]
    assert int(lines[6]) > 0


@pytest.mark.parametrize("version", [[], ["-3"]], ids=["resp2", "resp3"])
@pytest.mark.parametrize("depth", [1, 64])
def test_redis_benchmark(server, version, depth):
    host, port = server.resp
    load = ["-c", 20, "-n", 5000, "-P", depth, "-r", 1000, "--csv"]
    output = run("redis-benchmark", "-h", host, "-p", port, *version, *load, "THROTTLE", "key:__rand_int__", 10, 60, 60)
    assert "WARN" not in output and "rror" not in output
    assert float(output.split("\n")[1].split(",")[1].strip('"')) > 0


def test_redis_benchmark_own_tests(server):
    host, port = server.resp
    output = run("redis-benchmark", "-h", host, "-p", port, "-c", 10, "-n", 1000, "-q", "-t", "ping_inline,ping_mbulk")
    assert output.count("requests per second") == 2
    assert "WARN" not in output and "rror" not in output

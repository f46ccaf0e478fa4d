"""What the documentation shows runs, or at least reads, as Python; and every public name says what it is for."""

import ast
import inspect
import pathlib
import re
import types

import pytest

import tidegate
from tidegate import operations

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks(path):
    return re.findall(r"```python\n(.*?)```", (ROOT / path).read_text(), re.DOTALL)


async def run(source, **names):
    """Runs a block that awaits at its top level."""
    code = compile(source, "documentation", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await types.FunctionType(code, names)()


async def test_the_readme_runs(start_server, capsys):
    host, port = start_server().resp
    [source] = blocks("python/README.md")
    for shown, here in {"127.0.0.1:6380": f"{host}:{port}", "credit=100": "credit=100, idle=0.1"}.items():
        assert shown in source
        source = source.replace(shown, here)

    async def call_the_model():
        return types.SimpleNamespace(tokens=812)

    await run(source, call_the_model=call_the_model)
    async with tidegate.Limiter(f"{host}:{port}") as limiter:
        looked = await limiter.available("acme", "gpt-4", {"tpm": 0, "rpm": 0})
    left = {status.limit: status.available for status in looked.statuses}
    # 812 interactive and 812 queued; a little has come back meanwhile.
    assert 8376 <= left["tpm"] <= 9000 and left["rpm"] >= 59
    assert capsys.readouterr().out == ""


def test_the_guide_is_python():
    found = blocks("docs/guides/python.md")
    assert len(found) > 4
    for source in found:
        compile(source, "docs/guides/python.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("name", tidegate.__all__)
def test_every_public_name_has_its_text(name):
    thing = getattr(tidegate, name)
    assert inspect.getdoc(thing)
    for method, value in inspect.getmembers(thing):
        if not method.startswith("_") and callable(value) and not issubclass(thing, BaseException):
            assert inspect.getdoc(value), f"{name}.{method}"


def test_every_operation_has_its_text_and_its_arguments():
    limiter = tidegate.SyncLimiter()
    groups = [limiter, *(group for group in vars(limiter).values() if isinstance(group, operations.Group))]
    assert len(groups) > 5
    for group in groups:
        for name in [name for name in dir(type(group)) if not name.startswith("_")]:
            method = getattr(group, name)
            assert inspect.getdoc(method) and inspect.signature(method), f"{type(group).__name__}.{name}"

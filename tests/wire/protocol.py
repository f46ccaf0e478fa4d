"""The gRPC stubs, made from `proto/` by grpcio-tools when the tests start."""

import importlib
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

from server import ROOT


def _generate(output):
    proto = ROOT / "proto"
    well_known = str(next(iter(grpc_tools.__path__))) + "/_proto"
    files = [str(path) for path in sorted(proto.rglob("*.proto"))]
    arguments = ["protoc", f"-I{proto}", f"-I{well_known}", f"--python_out={output}", f"--grpc_python_out={output}"]
    assert protoc.main(arguments + files) == 0, "protoc could not read proto/"
    # The Python client has the same name and may be installed beside the tests: here the stubs are meant.
    for folder in ("tidegate", "tidegate/v1"):
        Path(output, folder, "__init__.py").touch()
    sys.path.insert(0, output)


_stubs = tempfile.TemporaryDirectory(prefix="tidegate-stubs-")
_generate(_stubs.name)
throttlecrab = importlib.import_module("throttlecrab_pb2")
throttlecrab_grpc = importlib.import_module("throttlecrab_pb2_grpc")
ask = importlib.import_module("tidegate.v1.ask_pb2")
ask_grpc = importlib.import_module("tidegate.v1.ask_pb2_grpc")
queue = importlib.import_module("tidegate.v1.queue_pb2")
queue_grpc = importlib.import_module("tidegate.v1.queue_pb2_grpc")
named_limit = importlib.import_module("tidegate.v1.named_limit_pb2")
entity = importlib.import_module("tidegate.v1.entity_pb2")
ledger = importlib.import_module("tidegate.v1.ledger_pb2")
ledger_grpc = importlib.import_module("tidegate.v1.ledger_pb2_grpc")

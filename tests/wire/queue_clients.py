"""One adapter per transport for the Queue door. All of them ask and answer in the same form."""

from queue_cli import CliQueues
from queue_grpc import GrpcQueues
from queue_http import HttpQueues
from queue_resp import Resp3Queues, RespQueues

QUEUE_TRANSPORTS = {"resp2": RespQueues, "resp3": Resp3Queues, "http": HttpQueues, "grpc": GrpcQueues, "cli": CliQueues}

__all__ = ["QUEUE_TRANSPORTS", "RespQueues"]

"""One adapter per transport for entities, limits and leases. All of them ask and answer in the same form."""

from ledger_cli import CliLedger
from ledger_grpc import GrpcLedger
from ledger_http import HttpLedger
from ledger_resp import Resp3Ledger, RespLedger

LEDGER_TRANSPORTS = {"resp2": RespLedger, "resp3": Resp3Ledger, "http": HttpLedger, "grpc": GrpcLedger, "cli": CliLedger}

__all__ = ["LEDGER_TRANSPORTS", "HttpLedger", "RespLedger"]

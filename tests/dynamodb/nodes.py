"""Tidegate servers that keep entities and limits in one table."""

from ledger_clients import RespLedger
from server import Server
from store import CREDENTIALS, PATIENT, REGION


def settings(table, through_proxy=False, **options):
    """As variables, which win over a file."""
    endpoint = table.endpoint.proxy.url if through_proxy else table.endpoint.url
    options = {"kind": "dynamodb", "table": table.name, "region": REGION, "endpoint": endpoint} | options
    options = PATIENT | {name.upper(): str(value) for name, value in options.items()}
    return {f"TIDEGATE_LEDGER_{name}": value for name, value in options.items()} | CREDENTIALS


class Node(Server):
    """One of them, with a connection to ask it by."""

    def __init__(self, folder, table, through_proxy=False, server=None, **options):
        super().__init__(folder, env=settings(table, through_proxy, **options), **(server or {}))
        self.table = table
        self.ledger = RespLedger(self)

    def client(self, namespace=None):
        """One more connection, for a thread of its own."""
        return RespLedger(self, namespace)

    def stop(self):
        self.ledger.close()
        return super().stop()

"""A table on an endpoint, made by `tidegate dynamodb create-table`, and read item by item."""

import itertools

from boto3.dynamodb.types import TypeDeserializer
from server import run_tidegate
from store import CREDENTIALS, REGION

_numbers = itertools.count(1)
_deserialize = TypeDeserializer().deserialize


def plain(item):
    """Values without their types: numbers as int."""
    values = {name: _deserialize(value) for name, value in item.items()}
    return {name: int(value) if type(value).__name__ == "Decimal" else value for name, value in values.items()}


class Table:
    """One table, and what is in it."""

    def __init__(self, endpoint, name=None, create=True):
        self.endpoint, self.dynamodb = endpoint, endpoint.dynamodb
        self.name = name or f"table-{next(_numbers)}"
        if create:
            made = self.command("create-table")
            assert made.returncode == 0, made.stderr

    def command(self, verb, *args):
        """`tidegate dynamodb VERB` on it."""
        options = ["--table", self.name, "--endpoint", self.endpoint.url, "--region", REGION]
        return run_tidegate("dynamodb", verb, *options, *args, env=CREDENTIALS)

    def say(self, **attributes):
        """Changes the item by which their clients know what a table is fit for."""
        names = ", ".join(f"{name} = :{name}" for name in attributes)
        self.dynamodb.update_item(
            TableName=self.name,
            Key={"PK": {"S": "_/SYSTEM#"}, "SK": {"S": "#VERSION"}},
            UpdateExpression=f"SET {names}",
            ExpressionAttributeValues={f":{name}": {"S": value} for name, value in attributes.items()},
        )

    def items(self, **equal):
        """Every item with these attributes, without their types."""
        found = []
        for page in self.dynamodb.get_paginator("scan").paginate(TableName=self.name, ConsistentRead=True):
            found += map(plain, page["Items"])
        return [item for item in found if all(item.get(name) == value for name, value in equal.items())]

    def namespace_id(self, namespace="default"):
        (found,) = self.items(SK=f"#NAMESPACE#{namespace}")
        return found["namespace_id"]

    def bucket(self, entity, resource="gpt-4", namespace="default"):
        """The state of an entity's limits of a resource, or nothing."""
        key = f"{self.namespace_id(namespace)}/BUCKET#{entity}#{resource}#0"
        return next(iter(self.items(PK=key, SK="#STATE")), None)

    def consumed(self, entity, limit, resource="gpt-4"):
        """What the table says was consumed of a limit, in tokens."""
        bucket = self.bucket(entity, resource)
        return 0 if bucket is None else bucket[f"b_{limit}_tc"] / 1000

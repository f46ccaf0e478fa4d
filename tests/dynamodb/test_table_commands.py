"""`tidegate dynamodb`: the table is made, looked at, listed, migrated and deleted; and it can be made from a file."""

import json

import boto3
import pytest
from python_client import Limit, Python
from server import run_tidegate
from shared_table import Table
from store import CREDENTIALS, REGION

RESOURCE = "gpt-4"


def test_a_table_is_made_once_looked_at_listed_and_deleted(emulator, entity):
    table = Table(emulator, f"made-{entity}", create=False)
    missing = table.command("status")
    assert missing.returncode != 0 and "create-table" in missing.stderr, missing
    assert table.command("create-table").returncode == 0
    assert table.command("create-table").returncode == 0, "it is there already, and that is fine"
    status = table.command("status", "--json")
    assert status.returncode == 0, status.stderr
    told = json.loads(status.stdout)
    assert told["table"] == table.name and told["layout"] == "0.10.0" and told["usable"]
    assert told["servers"] == []
    listed = run_tidegate("dynamodb", "list", "--endpoint", emulator.url, "--region", REGION, env=CREDENTIALS)
    assert table.name in listed.stdout
    assert table.command("migrate").returncode == 0, "nothing to do"
    assert table.command("delete-table").returncode != 0, "not without a yes"
    deleted = table.command("delete-table", "--yes")
    assert deleted.returncode == 0, deleted.stderr
    assert table.command("status").returncode != 0


def test_credentials_and_endpoints_that_do_not_work_are_said_in_time(emulator):
    table = Table(emulator, "anything", create=False)
    closed = run_tidegate(
        "dynamodb",
        "status",
        "--table",
        table.name,
        "--endpoint",
        "http://127.0.0.1:1",
        "--region",
        REGION,
        env=CREDENTIALS,
    )
    assert closed.returncode != 0 and "127.0.0.1:1" in closed.stderr, closed
    nobody = {name: "" for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")}
    nobody |= {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"}
    # AWS wants credentials before anything is sent; what is reached without TLS is an emulator, and takes made-up ones.
    for endpoint, told in (("https://127.0.0.1:1", "redentials"), (emulator.url, "there is no table")):
        anonymous = run_tidegate(
            "dynamodb",
            "status",
            "--table",
            table.name,
            "--endpoint",
            endpoint,
            "--region",
            REGION,
            env=CREDENTIALS | nobody,
        )
        assert anonymous.returncode != 0 and told in anonymous.stderr, anonymous


def test_the_template_makes_the_same_table(moto, start_node, entity):
    template = run_tidegate("dynamodb", "cloudformation")
    assert template.returncode == 0 and "AWS::DynamoDB::Table" in template.stdout, template.stderr
    stacks = boto3.client("cloudformation", endpoint_url=moto.url, region_name=REGION)
    name = f"stack-{entity}"
    parameters = [{"ParameterKey": "TableName", "ParameterValue": name}]
    # CloudFormation makes a boolean of it; moto passes the text on.
    body = template.stdout.replace("!Ref DeletionProtection", "false")
    stacks.create_stack(StackName=name, TemplateBody=body, Parameters=parameters)
    table, made = Table(moto, name, create=False), Table(moto)
    migrated = table.command("migrate")
    assert migrated.returncode == 0, migrated.stderr
    described = [moto.dynamodb.describe_table(TableName=one.name)["Table"] for one in (table, made)]
    for part in ("KeySchema", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "AttributeDefinitions"):
        assert shape(described[0].get(part)) == shape(described[1].get(part)), part
    node, python = start_node(table), Python(table)
    python.set_system_defaults([Limit.per_day("tpm", 5)])
    assert node.ledger.acquire((entity, RESOURCE, {"tpm": 5})).granted
    python.close()


def shape(part):
    """Without what only an ARN or a count tells apart, in any order."""
    if isinstance(part, list):
        return sorted((shape(one) for one in part), key=str)
    if isinstance(part, dict):
        kept = ("AttributeName", "AttributeType", "KeyType", "IndexName", "KeySchema", "Projection", "ProjectionType")
        return {name: shape(value) for name, value in part.items() if name in kept}
    return part


@pytest.mark.parametrize("verb", ["create-table", "delete-table", "status", "list", "migrate", "cloudformation"])
def test_every_command_explains_itself(verb):
    told = run_tidegate("dynamodb", verb, "--help")
    assert told.returncode == 0 and "Usage" in told.stdout

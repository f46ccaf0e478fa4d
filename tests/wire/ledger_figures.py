"""What a server says is left, and was used, of limits."""


def left(client, entity, resource, limit):
    """What is left of one limit of an entity's own."""
    statuses = client.available(entity, resource, **{limit: 0})["statuses"]
    return next(s["available"] for s in statuses if (s["entity"], s["limit"]) == (entity, limit))


def used(client, entity, limit):
    """How much was used of a limit, and by how many grants."""
    totals = client.usage(entity=entity, limit=limit, window="month")["totals"]
    return (totals[0]["amount"], totals[0]["events"]) if totals else (0, 0)


def left_of(ledger, entity="acme", resource="gpt-4", **cost):
    """What is left of an entity's own limits: of those that are named, or of `tpm`."""
    cost = cost or {"tpm": 0}
    statuses = [status for status in ledger.available(entity, resource, **cost)["statuses"] if status["entity"] == entity]
    return {status["limit"]: status["available"] for status in statuses if status["limit"] in cost}

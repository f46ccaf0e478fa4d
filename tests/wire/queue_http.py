"""The Queue door over HTTP, with httpx."""

import base64

from clients import Http
from decision import Decision, Refused
from queue_message import Message


class HttpQueues(Http):
    """httpx."""

    streams = False

    def _ask(self, method, path, body=None, **kwargs):
        answer = self.http.request(method, path, json=body, timeout=40, **kwargs)
        if answer.status_code in (200, 201):
            return answer.json()
        raise self._refused(answer.json()["error"])

    @staticmethod
    def _refused(error):
        return Refused(error["code"], f"{error['message']}; {error['hint']}")

    def create(self, name, **settings):
        return self._ask("POST", "/queues", {"name": name, **settings})

    def update(self, name, **settings):
        return self._ask("PATCH", f"/queues/{name}", settings)

    def delete(self, name):
        self._ask("DELETE", f"/queues/{name}")

    def list(self):
        return self._ask("GET", "/queues")["queues"]

    def inspect(self, name):
        return self._ask("GET", f"/queues/{name}")

    def flows(self, name):
        return self._ask("GET", f"/queues/{name}/flows")["flows"]

    def purge(self, name):
        return self._ask("POST", f"/queues/{name}/purge")["purged"]

    def pause(self, name):
        return self._ask("POST", f"/queues/{name}/pause")

    def resume(self, name):
        return self._ask("POST", f"/queues/{name}/resume")

    def redrive(self, name, count=None):
        return self._ask("POST", f"/queues/{name}/redrive", {} if count is None else {"count": count})["redriven"]

    @staticmethod
    def _document(payload, fields):
        fields = dict(fields)
        document = {"payload_base64": base64.b64encode(payload).decode()}
        names = {"key": "fairness_key", "at_ms": "deliver_at_ms", "throttle": "throttle_keys"}
        charges = [{"key": key, "amount": amount} for key, amount in fields.pop("charges", {}).items()]
        for entity, resource, cost in fields.pop("entity_charges", []):
            charges.append({"entity": entity, "resource": resource, "cost": cost})
        if charges:
            document["charges"] = charges
        for field, value in fields.items():
            if value is not None:
                document[names.get(field, field)] = value
        return document

    def enqueue(self, queue, payload, **fields):
        return self._ask("POST", f"/queues/{queue}/messages", self._document(payload, fields))["id"]

    @staticmethod
    def _result(result):
        error = result.get("error")
        return Refused(error["code"], error["message"]) if error else result.get("id")

    def enqueue_batch(self, messages):
        """One request for each run of messages to one queue."""
        results = []
        while messages:
            queue = messages[0][0]
            run = messages[: next((i for i, m in enumerate(messages) if m[0] != queue), len(messages))]
            messages = messages[len(run) :]
            documents = [self._document(payload, fields) for _, payload, fields in run]
            try:
                answer = self._ask("POST", f"/queues/{queue}/messages", {"messages": documents})
                results += [self._result(result) for result in answer["results"]]
            except Refused as refused:
                results += [refused] * len(run)
        return results

    def receive(self, queue, count=1, wait_ms=0):
        answer = self._ask("POST", f"/queues/{queue}/receive", {"max": count, "wait_ms": wait_ms})
        return [self._message(document) for document in answer["messages"]]

    @staticmethod
    def _message(document):
        payload = document.get("payload")
        payload = base64.b64decode(document["payload_base64"]) if payload is None else payload.encode()
        return Message(
            id=document["id"],
            receipt=document["receipt"],
            attempts=document["attempts"],
            key=document["fairness_key"],
            weight=document["weight"],
            cost=document["cost"],
            enqueued_at=document["enqueued_at_ms"],
            headers=document["headers"],
            throttle=document["throttle_keys"],
            payload=payload,
            dead=document["dead_letter"],
            charges=[
                (charge["entity"], charge["resource"], charge["limit"], charge["amount"])
                for charge in document.get("charges", [])
            ],
        )

    def _settle(self, queue, verb, body):
        results = self._ask("POST", f"/queues/{queue}/{verb}", body)["results"]
        outcomes = [self._result(result) for result in results]
        return [outcome if isinstance(outcome, Refused) else None for outcome in outcomes]

    def ack(self, queue, *receipts, cost=None):
        return self._settle(queue, "ack", {"receipts": list(receipts), **({"cost": cost} if cost else {})})

    def release(self, queue, *receipts):
        return self._settle(queue, "release", {"receipts": list(receipts)})

    def nack(self, queue, *receipts, delay_ms=None, error=None, close=None, cost=None):
        item = {"delay_ms": delay_ms, "error": error, "cost": cost}
        if close:
            item["close"] = {"throttle_key": close[0], "retry_after_ms": close[1]}
        item = {name: value for name, value in item.items() if value is not None}
        return self._settle(queue, "nack", {"items": [{"receipt": receipt, **item} for receipt in receipts]})

    def extend(self, queue, receipt, ms):
        return self._settle(queue, "extend", {"items": [{"receipt": receipt, "visibility_timeout_ms": ms}]})

    def set_limit(self, key, burst, count, period):
        return self._ask("PUT", f"/limits/{key}", {"burst": burst, "count": count, "period_s": period})

    def get_limit(self, key):
        return self._ask("GET", f"/limits/{key}")

    def list_limits(self):
        return self._ask("GET", "/limits")["limits"]

    def del_limit(self, key):
        self._ask("DELETE", f"/limits/{key}")

    def take_limit(self, key, quantity=1):
        return Decision(**self._ask("POST", f"/limits/{key}/take", {"quantity": quantity}))

    def close_limit(self, key, ms):
        self._ask("POST", f"/limits/{key}/close", {"retry_after_ms": ms})

    def set_setting(self, key, value):
        self._ask("PUT", f"/settings/{key}", {"value": value})

    def get_setting(self, key):
        return self._ask("GET", f"/settings/{key}")["value"]

    def list_settings(self, prefix=""):
        found = self._ask("GET", "/settings", params={"prefix": prefix})["settings"]
        return {item["key"]: item["value"] for item in found}

    def del_setting(self, key):
        self._ask("DELETE", f"/settings/{key}")

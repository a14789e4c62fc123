"""Alice's assistant at the gate, with a small client made of the standard library alone."""

import json
import os
import sys
import uuid
from datetime import datetime, timezone
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

URL = os.environ.get("TURNPIKE_URL", "http://127.0.0.1:8787").rstrip("/")
TOKEN = os.environ.get("TURNPIKE_TOKEN") or sys.exit("Set TURNPIKE_TOKEN to the token of a credential.")
TRACE = str(uuid.uuid4())
ASSISTANT = {"kind": "agent", "agentId": "assistant"}
ALICE = {"kind": "human", "userId": "alice"}


def ask(path, body=None):
    """Returns an answer and its headers. A denial is an answer; what is raised means that there is none."""
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "x-trace-id": TRACE}
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(URL + path, data, headers), timeout=30) as response:
        return json.load(response), response.headers


def now():
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")


def reading(path):
    call = {"id": str(uuid.uuid4()), "tool": "files.read", "arguments": {"path": path}}
    return {**call, "requestedAt": now(), "traceId": TRACE}


def invoke(call):
    result, headers = ask("/v1/tools/invoke", call)
    said = result["output"]["content"] if result["status"] == "succeeded" else result["error"]["code"]
    stored = ", as stored the first time" if headers.get("idempotency-replayed") else ""
    print(f"call: {result['status']}, {said.strip()!r}{stored}")


def turn(path):
    ids = {"id": str(uuid.uuid4()), "createdAt": now(), "traceId": TRACE, "purpose": "demo"}
    message = {"version": 1, **ids, "sender": ALICE, "receiver": ASSISTANT, "payload": {"read": path}}
    request = {"version": 1, "executionId": str(uuid.uuid4()), "agent": ASSISTANT, "message": message}
    result, _ = ask("/v1/turns", request)
    print(f"turn: {result['status']},", " ".join(event["type"] for event in result["events"]))


try:
    tools, _ = ask("/v1/tools")
    print("tools:", " ".join(tool["name"] for tool in tools))
    call = reading("notes/todo.md")
    invoke(call)
    invoke(call)  # as after a lost answer: the gate knows the id, and does nothing twice
    invoke(reading("private/diary.md"))
    turn("notes/todo.md")
except HTTPError as error:
    sys.exit(f"{error.code}: {error.read().decode()}")
except URLError as error:
    sys.exit(f"No host answers at {URL}: {error.reason}")

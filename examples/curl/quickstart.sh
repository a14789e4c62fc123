#!/usr/bin/env bash
# Alice's assistant at the gate, with nothing but curl. Stops at the first request that fails, and shows why.
set -euo pipefail
url=${TURNPIKE_URL:-http://127.0.0.1:8787}
token=${TURNPIKE_TOKEN:?Set it to the token of a credential, such as that of the assistant in the demo.}

now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
run=$(date +%s)-$$

# ask <path> [options of curl]. The token goes through standard input, so that no list of processes shows it.
ask() {
  echo "authorization: Bearer $token" |
    curl --silent --show-error --fail-with-body --header @- --header "x-trace-id: $run" "${@:2}" "$url$1"
}
# pick <expression>: of an answer, what fits it, or its error
pick() {
  grep -oE "$1|\"error\":.*"
}

echo "# The tools that it may use"
ask /v1/tools | pick '"name":"[a-z.]+"'

read_file() {
  ask /v1/tools/invoke "${@:3}" --json '{
    "id": "'"$1"'", "tool": "files.read", "arguments": {"path": "'"$2"'"}, "requestedAt": "'"$now"'", "traceId": "'"$run"'"
  }'
}
echo "# An allowed call"
read_file "todo-$run" notes/todo.md | pick '"(status|content)":"[^"]+"'

echo "# The same call again: its id is known, so the answer is the one that was stored, and nothing is done twice"
read_file "todo-$run" notes/todo.md --include | pick '^idempotency-replayed: true|"(status|content)":"[^"]+"'

echo "# A denied call, and why"
read_file "diary-$run" private/diary.md | pick '"status":"[^"]+"'

echo "# A turn: Alice has her assistant read the list"
ask /v1/turns --json '{
  "version": 1, "executionId": "turn-'"$run"'", "agent": {"kind": "agent", "agentId": "assistant"},
  "message": {
    "version": 1, "id": "message-'"$run"'", "createdAt": "'"$now"'", "traceId": "'"$run"'", "purpose": "demo",
    "sender": {"kind": "human", "userId": "alice"}, "receiver": {"kind": "agent", "agentId": "assistant"},
    "payload": {"read": "notes/todo.md"}
  }
}' | pick '"type":"[a-z.]+"|"content":"[^"]+"'

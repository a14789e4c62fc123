"""The client against the host that TURNPIKE_URL and TURNPIKE_TOKEN name."""

import asyncio
import os
import unittest
import uuid
from unittest import mock

from turnpike import ActDenied, ActFailed, ActInterrupted, Gate, GateError, governed

NEEDS = [{"action": "send", "resource": {"namespace": "mail", "path": ["bob"]}}]
ACT = {"id": "call-1", "tool": "send_mail", "needs": NEEDS}


class Host(unittest.TestCase):
    def setUp(self):
        self.gate = Gate(url=os.environ["TURNPIKE_URL"], token=os.environ["TURNPIKE_TOKEN"])

    def test_a_host_decides_records_and_replays(self):
        run = str(uuid.uuid4())
        happened = []

        @governed(self.gate, needs="send mail/$to", trace=run, id=lambda to: f"mail-{to}")
        def send(to):
            happened.append(to)
            return f"sent {to}"

        self.assertEqual([send("bob"), send("bob")], ["sent bob", "sent bob"])
        with self.assertRaises(ActDenied) as raised:
            send("eve")
        self.assertEqual((raised.exception.code, happened), ("no_matching_grant", ["bob"]))
        self.assertEqual(
            raised.exception.required_authority["capabilities"],
            [{"actions": ["send"], "resource": {"namespace": "mail", "path": ["eve"]}, "scope": "exact"}],
        )

    def test_a_host_remembers_failures_and_interruptions(self):
        act = {**ACT, "id": "act-1", "traceId": str(uuid.uuid4())}
        with self.assertRaises(ZeroDivisionError):
            self.gate.run(act, lambda: 1 // 0)
        with self.assertRaises(ActFailed) as failed:
            self.gate.run(act, lambda: 1)
        self.assertEqual(failed.exception.code, "effect_failed")
        act = {**act, "id": "act-2"}
        self.assertEqual(self.gate.begin(act)["status"], "allowed")
        with self.assertRaises(ActInterrupted) as interrupted:
            asyncio.run(self.gate.run_async(act, mock.AsyncMock()))
        self.assertEqual(interrupted.exception.code, "replay_pending")

    def test_a_host_asks_a_person(self):
        needs = [{"action": "pay", "resource": {"namespace": "bank", "path": ["bob"]}}]
        with self.assertRaises(ActDenied) as raised:
            self.gate.run({"id": "pay-1", "tool": "pay", "needs": needs}, mock.Mock())
        self.assertEqual(raised.exception.code, "approval_required")
        self.assertIsNotNone(raised.exception.escalation_id)
        self.assertTrue(raised.exception.url.startswith("http"))

    def test_a_host_refuses_an_unknown_token(self):
        with self.assertRaises(GateError) as raised:
            Gate(url=os.environ["TURNPIKE_URL"], token="tp_unknown").run(ACT, mock.Mock())
        self.assertEqual((raised.exception.code, raised.exception.status), ("unauthenticated", 401))


if __name__ == "__main__":
    unittest.main()

"""The client against a stand-in that answers as told."""

import ast
import asyncio
import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

import turnpike
from turnpike import ActDenied, ActFailed, ActInterrupted, Gate, GateError, governed

NEEDS = [{"action": "send", "resource": {"namespace": "mail", "path": ["bob"]}}]
ACT = {"id": "call/1", "tool": "send_mail", "needs": NEEDS, "traceId": "run 1"}
ALLOWED = {"status": "allowed", "id": "call/1", "expiresAt": "2026-01-01T12:05:00Z", "grants": ["g"]}


class StandIn:
    """A gate that gives one answer after the other, and remembers what it was sent."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.sent = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                stand_in.sent.append((self.path, body, dict(self.headers)))
                answer = stand_in.answers.pop(0) if stand_in.answers else (200, {"status": "succeeded"})
                status, said = answer if isinstance(answer, tuple) else (200, answer)
                text = said if isinstance(said, bytes) else json.dumps(said).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.send_header("location", "/elsewhere")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.gate = Gate(url=f"http://127.0.0.1:{self.server.server_port}/", token="tp_1")

    @property
    def outcomes(self):
        return [body for path, body, _ in self.sent if path.endswith("/outcome")]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def refusal(status, code):
    return status, {"error": {"code": code, "message": "No."}}


class WithStandIn(unittest.TestCase):
    def open(self, *answers):
        stand_in = StandIn(*answers)
        self.addCleanup(stand_in.close)
        return stand_in

    def setUp(self):
        # Pauses between reports pass at once.
        patch = mock.patch.object(turnpike.time, "sleep")
        self.sleep = patch.start()
        self.addCleanup(patch.stop)

    def at(self, *times):
        """What the clock of the client says, one time after the other."""
        clock = mock.Mock(sleep=self.sleep, monotonic=mock.Mock(side_effect=times))
        return mock.patch.object(turnpike, "time", clock)


class Run(WithStandIn):
    def test_an_allowed_effect_happens_and_is_reported(self):
        gate = self.open(ALLOWED)
        self.assertEqual(gate.gate.run(ACT, lambda: {"sent": 1}, wait=30), {"sent": 1})
        (path, body, headers), (reported, outcome, _) = gate.sent
        self.assertEqual(path, "/v1/acts")
        self.assertEqual({**body, "requestedAt": ""}, {**ACT, "version": 1, "requestedAt": ""})
        self.assertRegex(body["requestedAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        sent = {name.lower(): value for name, value in headers.items()}
        self.assertEqual(sent["authorization"], "Bearer tp_1")
        self.assertEqual((sent["x-trace-id"], sent["prefer"]), ("run%201", "wait=30"))
        self.assertEqual(reported, "/v1/acts/call%2F1/outcome")
        self.assertEqual(outcome, {"version": 1, "traceId": "run 1", "status": "succeeded", "output": {"sent": 1}})

    def test_a_person_is_waited_for_in_requests_of_a_minute(self):
        waiting = {"status": "waiting", "id": "x"}
        gate = self.open(waiting, waiting, waiting, ALLOWED)
        # The second request is held for its whole minute, the third is answered early.
        with self.at(0, 0, 0, 0, 1, 61, 61, 61, 62, 62, 62):
            self.assertEqual(gate.gate.run(ACT, lambda: "done", wait=100), "done")
        held = [dict((name.lower(), value) for name, value in headers.items()).get("prefer") for _, _, headers in gate.sent]
        self.assertEqual(held, ["wait=60", "wait=60", "wait=39", "wait=38", None])
        self.assertEqual(self.sleep.call_count, 2)

    def test_a_person_is_waited_for_no_longer_than_was_said(self):
        waiting = {"status": "waiting", "id": "x"}
        gate = self.open(waiting, ALLOWED)
        with self.at(0, 0, 30):
            with self.assertRaises(ActDenied):
                gate.gate.run(ACT, mock.Mock(), wait=30)
        self.assertEqual(len(gate.sent), 1)

    def test_what_does_not_allow_runs_nothing(self):
        denied = {"status": "denied", "id": "x", "error": {"code": "no_matching_grant", "message": "No grant."}}
        waiting = {"status": "waiting", "id": "x", "escalationId": "e1", "expiresAt": "soon", "url": "https://gate.test/q"}
        for answer, kind, code in [
            ({**denied, "requiredAuthority": {"capabilities": []}}, ActDenied, "no_matching_grant"),
            (waiting, ActDenied, "approval_required"),
            ({"status": "failed", "id": "x", "error": {"code": "broken", "message": "It broke."}}, ActFailed, "broken"),
            ({"status": "interrupted", "id": "x"}, ActInterrupted, "replay_interrupted"),
            (refusal(409, "replay_interrupted"), ActInterrupted, "replay_interrupted"),
            (refusal(409, "replay_pending"), ActInterrupted, "replay_pending"),
            (refusal(409, "replay_conflict"), GateError, "replay_conflict"),
            (refusal(401, "unauthenticated"), GateError, "unauthenticated"),
            ({"status": "Allowed"}, GateError, "invalid_response"),
            ({}, GateError, "invalid_response"),
            ((200, b"[]"), GateError, "invalid_response"),
            ((200, b"<html>"), GateError, "invalid_response"),
            ((500, b"<html>"), GateError, "refused"),
            ((307, {"status": "allowed"}), GateError, "refused"),
            ((302, {"status": "allowed"}), GateError, "refused"),
        ]:
            with self.subTest(answer=answer):
                gate = self.open(answer)
                effect = mock.Mock()
                with self.assertRaises(kind) as raised:
                    gate.gate.run(ACT, effect)
                self.assertEqual(raised.exception.code, code)
                effect.assert_not_called()
                self.assertEqual(len(gate.sent), 1)

    def test_a_denial_says_what_is_missing_and_who_is_asked(self):
        gate = self.open({"status": "denied", "id": "x", "error": {"code": "no", "message": "No."}, "requiredAuthority": {"a": 1}})
        with self.assertRaises(ActDenied) as raised:
            gate.gate.run(ACT, mock.Mock())
        self.assertEqual((raised.exception.id, raised.exception.required_authority), ("x", {"a": 1}))
        gate = self.open({"status": "waiting", "id": "x", "escalationId": "e1", "expiresAt": "T", "url": "https://gate.test/q"})
        with self.assertRaises(ActDenied) as raised:
            gate.gate.run(ACT, mock.Mock())
        self.assertEqual((raised.exception.escalation_id, raised.exception.url), ("e1", "https://gate.test/q"))
        self.assertEqual(
            str(raised.exception),
            "A person was asked, who may answer until T. Nothing has happened; do not try again by yourself."
            " They answer at https://gate.test/q",
        )

    def test_a_repetition_returns_what_was_recorded(self):
        effect = mock.Mock()
        self.assertEqual(self.open({"status": "succeeded", "id": "x", "output": [1]}).gate.run(ACT, effect), [1])
        self.assertIsNone(self.open({"status": "succeeded", "id": "x"}).gate.run(ACT, effect))
        effect.assert_not_called()

    def test_a_gate_that_is_away_runs_nothing(self):
        gate = self.open()
        gate.server.server_close()
        effect = mock.Mock()
        with self.assertRaises(GateError) as raised:
            gate.gate.run(ACT, effect)
        self.assertEqual((raised.exception.code, raised.exception.status), ("request_failed", 0))
        effect.assert_not_called()

    def test_an_effect_that_raises_is_reported_and_raised(self):
        for error, code, message in [
            (ValueError("no disk"), "effect_failed", "no disk"),
            (ValueError(), "effect_failed", "ValueError"),
            (ValueError("a\ud800"), "effect_failed", "a?"),
            (KeyboardInterrupt(), "cancelled", "KeyboardInterrupt"),
        ]:
            gate = self.open(ALLOWED)
            with self.assertRaises(type(error)) as raised:
                gate.gate.run(ACT, mock.Mock(side_effect=error))
            self.assertIs(raised.exception, error)
            self.assertEqual(gate.outcomes[0]["error"], {"code": code, "message": message})

    def test_an_outcome_is_reported_until_it_is_taken(self):
        gate = self.open(ALLOWED, refusal(503, "overloaded"), refusal(429, "rate_limited"))
        self.assertEqual(gate.gate.run(ACT, lambda: 1), 1)
        self.assertEqual((len(gate.outcomes), self.sleep.call_count), (3, 2))

    def test_an_outcome_that_is_not_taken_is_logged_and_the_output_returned(self):
        for answers, count in [([refusal(503, "overloaded")] * 9, 6), ([refusal(409, "outcome_conflict")] * 9, 1)]:
            gate = self.open(ALLOWED, *answers)
            with self.assertLogs("turnpike", "ERROR") as logged:
                self.assertEqual(gate.gate.run(ACT, lambda: 1), 1)
            self.assertEqual(len(gate.outcomes), count)
            self.assertIn("call/1", logged.output[0])

    def test_an_output_that_is_not_taken_is_left_out(self):
        gate = self.open(ALLOWED, refusal(413, "payload_too_large"))
        gate.gate.run(ACT, lambda: "long")
        self.assertEqual(["output" in outcome for outcome in gate.outcomes], [True, False])
        for output in (object(), float("nan"), {1, 2}):
            gate = self.open(ALLOWED)
            self.assertIs(gate.gate.run(ACT, lambda output=output: output), output)
            self.assertEqual(gate.outcomes, [{"version": 1, "traceId": "run 1", "status": "succeeded"}])

    def test_an_act_of_an_execution_is_reported_under_it(self):
        gate = self.open(ALLOWED)
        gate.gate.run({**ACT, "executionId": "turn-1"}, lambda: 1)
        self.assertEqual(gate.outcomes, [{"version": 1, "executionId": "turn-1", "status": "succeeded", "output": 1}])

    def test_a_shadow_happens_whatever_the_gate_says(self):
        for answer in (ALLOWED, refusal(503, "overloaded"), (200, b"<html>")):
            gate = self.open(answer)
            self.assertEqual(gate.gate.run({**ACT, "shadow": True}, lambda: 1), 1)
            self.assertEqual(gate.outcomes, [])

    def test_a_dry_run_is_begun_and_not_run(self):
        with self.assertRaises(TypeError):
            self.open().gate.run({**ACT, "dryRun": True}, mock.Mock())
        self.assertEqual(self.open(ALLOWED).gate.begin({**ACT, "dryRun": True})["status"], "allowed")

    def test_an_address_is_one(self):
        for url in ("", "gate.test", "file:///etc/passwd"):
            with self.assertRaises(ValueError):
                Gate(url=url, token="t")


class RunAsync(WithStandIn):
    def test_an_effect_that_is_awaited_is_governed_alike(self):
        async def effect():
            return 1

        gate = self.open(ALLOWED)
        self.assertEqual(asyncio.run(gate.gate.run_async(ACT, effect)), 1)
        self.assertEqual(gate.outcomes[0]["output"], 1)
        called = mock.AsyncMock()
        denied = self.open({"status": "denied", "id": "x", "error": {"code": "no", "message": "No."}})
        with self.assertRaises(ActDenied):
            asyncio.run(denied.gate.run_async(ACT, called))
        called.assert_not_called()

    def test_a_cancelled_effect_is_reported_as_cancelled(self):
        async def cancelled(gate):
            started = asyncio.Event()

            async def effect():
                started.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(gate.run_async(ACT, effect))
            await started.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        gate = self.open(ALLOWED)
        asyncio.run(cancelled(gate.gate))
        self.assertEqual(gate.outcomes[0]["error"]["code"], "cancelled")

    def test_a_caller_who_cancelled_does_not_ask_again(self):
        held, answered = threading.Event(), threading.Event()
        asked = []

        def post(path, body, wait):
            asked.append(wait)
            held.wait()
            answered.set()
            return {"status": "waiting", "id": "x"}

        async def cancelled(gate):
            task = asyncio.create_task(gate.run_async(ACT, mock.AsyncMock(), wait=600))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            held.set()
            await asyncio.to_thread(answered.wait)

        gate = self.open().gate
        with mock.patch.object(gate, "_post", post):
            # Its end waits for the thread.
            asyncio.run(cancelled(gate))
        self.assertEqual(asked, [60])

    def test_what_was_allowed_to_a_caller_who_cancelled_is_given_back(self):
        held, reported = threading.Event(), threading.Event()
        gate = self.open()
        effect = mock.AsyncMock()
        told = []

        def post(path, body, _wait):
            if path == "/v1/acts":
                held.wait()
                return ALLOWED
            told.append(body)
            reported.set()
            return {"status": "failed"}

        async def cancelled():
            task = asyncio.create_task(gate.gate.run_async(ACT, effect))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            held.set()
            await asyncio.to_thread(reported.wait)

        with mock.patch.object(gate.gate, "_post", post):
            asyncio.run(cancelled())
        effect.assert_not_called()
        self.assertEqual((told[0]["error"]["code"], told[0]["error"]["nothingHappened"]), ("cancelled", True))


class Governed(WithStandIn):
    def needs_of(self, function, *args, **kwargs):
        begun = []

        class Recording(Gate):
            def run(self, act, effect, *, wait=0):
                begun.append(act)
                return effect()

        governed(Recording(url="http://127.0.0.1", token="t"), **function.__dict__)(function)(*args, **kwargs)
        return [" ".join([n["action"], "/".join([n["resource"]["namespace"], *n["resource"]["path"]])]) for n in begun[0]["needs"]]

    def test_parameters_are_bound_by_name(self):
        def send(to, text="", *, copies=()):
            return to

        for options, args, kwargs, expected in [
            ({}, ("bob",), {}, ["call agent.tools/send"]),
            ({"tool": "a/b"}, ("bob",), {}, ["call agent.tools/a%2Fb"]),
            ({"needs": "read mail"}, ("bob",), {}, ["read mail"]),
            ({"needs": "send mail/$to"}, ("bob",), {}, ["send mail/bob"]),
            ({"needs": "send mail/$to"}, (), {"to": "bob"}, ["send mail/bob"]),
            ({"needs": "send mail/$to"}, (7,), {}, ["send mail/7"]),
            ({"needs": "send mail/$to"}, ("a/b%",), {}, ["send mail/a%2Fb%25"]),
            ({"needs": "send mail/$to"}, ("..",), {}, ["send mail/%2E%2E"]),
            ({"needs": "send mail/$to/now"}, (["bob", "eve", "bob"],), {}, ["send mail/bob/now", "send mail/eve/now"]),
            ({"needs": ["send mail/$to", "read mail"]}, ("bob",), {}, ["send mail/bob", "read mail"]),
            ({"needs": "send mail/$copies"}, ("bob",), {"copies": ("eve",)}, ["send mail/eve"]),
        ]:
            with self.subTest(options=options):
                send.__dict__.clear()
                send.__dict__.update(options)
                self.assertEqual(self.needs_of(send, *args, **kwargs), expected)

    def test_arguments_that_do_not_say_what_is_needed_run_nothing(self):
        gate = self.open()

        @governed(gate.gate, needs="send mail/$to")
        def send(to, text=None):
            raise AssertionError("It ran.")

        for to in ("", [], {}, None, 1.5, True, [""], [["a"]]):
            with self.subTest(to=to), self.assertRaises(ValueError):
                send(to)
        with self.assertRaises(TypeError):
            send("bob", object())
        with self.assertRaises(TypeError):
            send()
        self.assertEqual(gate.sent, [])

    def test_needs_that_cannot_be_read_are_refused_before_anything_is_called(self):
        gate = self.open().gate
        for needs in ("", "send", "send ", "send $to", " mail/$to", "send mail/", "send mail/../x", "send mail/$", "send mail/$who", []):
            with self.subTest(needs=needs), self.assertRaises(TypeError):
                governed(gate, needs=needs)(lambda to: to)

    def test_a_function_keeps_its_name_and_its_kind(self):
        gate = self.open(ALLOWED, {"status": "succeeded"}, ALLOWED)

        @governed(gate.gate, needs="send mail/$to", write=False, trace="run-1", id=lambda to: f"mail-{to}")
        def send(to: str) -> str:
            """Sends."""
            return f"sent {to}"

        self.assertEqual((send.__name__, send.__doc__, send("bob")), ("send", "Sends.", "sent bob"))
        body = gate.sent[0][1]
        self.assertEqual((body["id"], body["traceId"], body["tool"], body["write"]), ("mail-bob", "run-1", "send", False))
        self.assertEqual(body["arguments"], {"to": "bob"})

        @governed(gate.gate, spends=[{"unit": "EUR", "amount": "1"}])
        async def pay(to: str) -> str:
            return f"paid {to}"

        self.assertTrue(asyncio.iscoroutinefunction(pay))
        self.assertEqual(asyncio.run(pay("bob")), "paid bob")
        self.assertEqual(gate.sent[2][1]["spends"], [{"unit": "EUR", "amount": "1"}])

    def test_a_method_is_shown_without_its_object(self):
        gate = self.open(ALLOWED)

        class Mail:
            @governed(gate.gate, needs="send mail/$to")
            def send(self, to):
                return to

        self.assertEqual(Mail().send("bob"), "bob")
        self.assertEqual(gate.sent[0][1]["arguments"], {"to": "bob"})


class Source(unittest.TestCase):
    def test_it_is_python_3_9(self):
        ast.parse(Path(turnpike.__file__).read_text(), feature_version=(3, 9))


if __name__ == "__main__":
    unittest.main()

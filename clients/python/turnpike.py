"""Effects of a Python program, decided by a Turnpike gate before they happen and recorded after it.

One file, made of the standard library alone, for Python 3.9 and later: copy it beside your program.

    gate = Gate(url="https://gate.example.com", token=os.environ["TURNPIKE_TOKEN"])

    @governed(gate, needs="send mail/$to")
    def send_mail(to: str, text: str) -> str: ...
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
import math
import random
import re
import threading
import time
import uuid
from datetime import datetime, timezone
from http.client import HTTPException
from typing import Any, Awaitable, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union, cast
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

__all__ = ["ActDenied", "ActFailed", "ActInterrupted", "Gate", "GateError", "governed"]

Json = Any
Act = Mapping[str, Any]
Output = TypeVar("Output")
Function = TypeVar("Function", bound=Callable[..., Any])

_log = logging.getLogger("turnpike")
_MAX_REPORTS = 6
_MAX_HELD_SECONDS = 60


class GateError(Exception):
    """The gate did not decide: it was not reached, or refused the request. Nothing has happened."""

    def __init__(self, code: str, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


class ActDenied(Exception):
    """The gate denied the act, or waits for a person. Nothing has happened."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self.id: str = state["id"]
        self.required_authority: Optional[Dict[str, Any]] = state.get("requiredAuthority")
        self.url: Optional[str] = state.get("url")
        error = state.get("error") or {}
        self.escalation_id: Optional[str] = state.get("escalationId") or (error.get("details") or {}).get("escalationId")
        if state.get("status") == "waiting":
            self.code = "approval_required"
            until = f", who may answer until {state['expiresAt']}" if "expiresAt" in state else ""
            where = f" They answer at {self.url}" if self.url else ""
            message = f"A person was asked{until}. Nothing has happened; do not try again by yourself.{where}"
        else:
            self.code = str(error.get("code", "denied"))
            message = str(error.get("message", "It was denied."))
        super().__init__(message)


class ActFailed(Exception):
    """The act was carried out before, and failed."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        error = state.get("error") or {}
        super().__init__(str(error.get("message", "It failed.")))
        self.id: str = state["id"]
        self.code = str(error.get("code", "failed"))


class ActInterrupted(Exception):
    """The act was begun before, and what became of it is not known: it may have happened."""

    def __init__(self, act_id: str, code: str = "replay_interrupted") -> None:
        super().__init__("It was begun before, and may have happened: look before you do it again.")
        self.id = act_id
        self.code = code


class _NoRedirect(HTTPRedirectHandler):
    """A redirection would take the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Gate:
    """A gate, and how it is reached. Any number of threads may use one."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        if not re.match(r"https?://", url):
            raise ValueError("url: expected an address such as https://gate.example.com")
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._opener = build_opener(_NoRedirect)

    def begin(self, act: Act, *, wait: int = 0) -> Dict[str, Any]:
        """Asks for an act. When the state is `allowed`, carry it out and say so with `finish`, under the same trace or execution."""
        return self._begin(_request_of(act), wait)

    def finish(self, act_id: str, outcome: Mapping[str, Any]) -> Dict[str, Any]:
        """Says what became of an act. Saying it again changes nothing."""
        return self._post(f"/v1/acts/{quote(act_id, safe='')}/outcome", {"version": 1, **outcome}, 0)

    def run(self, act: Act, effect: Callable[[], Output], *, wait: int = 0) -> Output:
        """Carries an effect out if the gate allows it, once for an id within its trace or execution, and records what became of it.

        `wait` is for how many seconds a person who is asked may take. A repetition returns the recorded output as JSON. Raises
        `ActDenied`, `ActFailed`, `ActInterrupted`, what the effect raises, or `GateError`, and then nothing has happened.
        """
        request = _request_of(act, is_run=True)
        if request.get("shadow") is True:
            self._shadow(request)
            return effect()
        begun = self._begin(request, wait)
        if begun["status"] != "allowed":
            return cast(Output, _replay_of(begun))
        try:
            output = effect()
        except BaseException as error:
            self._report(request, _failure_of(error))
            raise
        self._report(request, {"status": "succeeded", **_output_of(output)})
        return output

    async def run_async(self, act: Act, effect: Callable[[], Awaitable[Output]], *, wait: int = 0) -> Output:
        """The same for an effect that is awaited. Cancelling it while it begins gives back what the gate allowed."""
        request = _request_of(act, is_run=True)
        if request.get("shadow") is True:
            await asyncio.to_thread(self._shadow, request)
            return await effect()
        begun = await self._claim(request, wait)
        if begun["status"] != "allowed":
            return cast(Output, _replay_of(begun))
        try:
            output = await effect()
        except BaseException as error:
            # A task that is cancelled again while it reports does not report less.
            await asyncio.shield(asyncio.to_thread(self._report, request, _failure_of(error)))
            raise
        await asyncio.shield(asyncio.to_thread(self._report, request, {"status": "succeeded", **_output_of(output)}))
        return output

    async def _claim(self, request: Dict[str, Any], wait: int) -> Dict[str, Any]:
        is_cancelled = threading.Event()
        begin = functools.partial(self._begin, request, wait, lambda: not is_cancelled.is_set())
        begun = asyncio.ensure_future(asyncio.to_thread(begin))
        try:
            return await asyncio.shield(begun)
        except asyncio.CancelledError:
            is_cancelled.set()
            begun.add_done_callback(functools.partial(self._give_back, request))
            raise

    def _give_back(self, request: Dict[str, Any], begun: "asyncio.Future[Dict[str, Any]]") -> None:
        if begun.cancelled() or begun.exception() is not None or begun.result()["status"] != "allowed":
            return
        error = {"code": "cancelled", "message": "The caller cancelled before it began.", "nothingHappened": True}
        threading.Thread(target=self._report, args=(request, {"status": "failed", "error": error})).start()

    def _begin(
        self, request: Dict[str, Any], wait: int, is_wanted: Callable[[], bool] = lambda: True
    ) -> Dict[str, Any]:
        """Asks again while a person may still answer, because the gate holds a request for a minute at most."""
        until = time.monotonic() + wait
        early = 0
        while True:
            asked_at = time.monotonic()
            held = min(max(math.ceil(until - asked_at), 0), _MAX_HELD_SECONDS)
            state = self._begin_once(request, held)
            if state["status"] != "waiting" or time.monotonic() >= until or not is_wanted():
                return state
            # A gate that holds as many requests as it may, or is about to end, answers at once.
            if time.monotonic() < asked_at + held:
                time.sleep(_pause_after(early))
                early += 1

    def _begin_once(self, request: Dict[str, Any], held: int) -> Dict[str, Any]:
        try:
            state = self._post("/v1/acts", request, held)
        except GateError as error:
            if error.code in ("replay_pending", "replay_interrupted"):
                raise ActInterrupted(request["id"], error.code) from error
            raise
        if state.get("status") not in ("allowed", "denied", "waiting", "succeeded", "failed", "interrupted"):
            raise GateError("invalid_response", "The gate answered with something that is no state of an act.")
        return {"id": request["id"], **state}

    def _shadow(self, request: Dict[str, Any]) -> None:
        """What would have been decided is recorded, if it can be. The effect happens in any case."""
        try:
            self._begin(request, 0)
        except (GateError, ActInterrupted):
            _log.warning("The gate did not record the act %s, which it was to shadow.", request["id"])

    def _report(self, request: Dict[str, Any], end: Dict[str, Any]) -> None:
        """Reports until the gate has taken it. The effect has happened, so a failure is logged and not raised."""
        scope = "executionId" if "executionId" in request else "traceId"
        outcome = {scope: request[scope], **end}
        for failures in range(_MAX_REPORTS):
            try:
                self.finish(request["id"], outcome)
                return
            except GateError as error:
                if "output" in outcome and error.code in ("invalid_request", "invalid_json", "payload_too_large"):
                    del outcome["output"]
                elif error.status not in (0, 429) and error.status < 500:
                    break
                elif failures + 1 < _MAX_REPORTS:
                    time.sleep(_pause_after(failures))
        _log.error("The gate was not told what became of the act %s, and will call it interrupted.", request["id"])

    def _post(self, path: str, body: Mapping[str, Any], wait: int) -> Dict[str, Any]:
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        if "traceId" in body:
            headers["x-trace-id"] = quote(str(body["traceId"]), safe="")
        if wait > 0:
            headers["prefer"] = f"wait={wait}"
        request = Request(self._url + path, json.dumps(body, allow_nan=False).encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._timeout + wait) as response:
                answer = json.load(response)
        except HTTPError as error:
            raise _refusal_of(error) from error
        except (OSError, HTTPException) as error:
            raise GateError("request_failed", f"The gate could not be reached: {error}") from error
        except ValueError as error:
            raise GateError("invalid_response", "The gate answered with something that is no JSON.") from error
        if not isinstance(answer, dict):
            raise GateError("invalid_response", "The gate answered with something that is no object.")
        return answer


def governed(
    gate: Gate,
    *,
    needs: Union[str, Sequence[str], None] = None,
    tool: Optional[str] = None,
    write: bool = True,
    spends: Optional[Sequence[Mapping[str, Any]]] = None,
    wait: int = 0,
    id: Optional[Callable[..., str]] = None,
    trace: Optional[str] = None,
    shadow: bool = False,
) -> Callable[[Function], Function]:
    """Puts a function behind a gate; one that is `async` stays so.

    `needs` says what a call needs, such as `"send mail/$to"`: an action, and a resource whose steps may be parameters. Without it a
    call needs `call` on `agent.tools/<name>`. `id` makes an act's id of the arguments; with a `trace` that is the same in a program that
    runs again, the same id happens once.
    """
    texts = [needs] if isinstance(needs, str) else needs

    def decorate(function: Function) -> Function:
        name = tool or function.__name__
        signature = inspect.signature(function)
        read = [_Need(name, text) for text in ([f"call agent.tools/{_segment(name)}"] if texts is None else texts)]
        if not read:
            raise TypeError(f"The needs of {name}: expected at least one.")
        for need in read:
            need.check(signature)

        def act_of(args: Any, kwargs: Any) -> Dict[str, Any]:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = {key: value for key, value in bound.arguments.items() if key not in ("self", "cls")}
            try:
                arguments = json.loads(json.dumps(arguments, allow_nan=False))
            except (TypeError, ValueError, RecursionError) as error:
                raise TypeError(f"The arguments of {name} cannot be shown to a person as JSON: {error}") from error
            requests = {json.dumps(one): one for need in read for one in need.requests(arguments)}
            act: Dict[str, Any] = {
                "id": str(uuid.uuid4()) if id is None else id(*args, **kwargs),
                "tool": name,
                "needs": list(requests.values()),
                "arguments": arguments,
                "write": write,
            }
            if spends is not None:
                act["spends"] = list(spends)
            if trace is not None:
                act["traceId"] = trace
            if shadow:
                act["shadow"] = True
            return act

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                return await gate.run_async(act_of(args, kwargs), lambda: function(*args, **kwargs), wait=wait)

            return cast(Function, run_async)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            return gate.run(act_of(args, kwargs), lambda: function(*args, **kwargs), wait=wait)

        return cast(Function, run)

    return decorate


class _Need:
    """One thing that calls of a tool need."""

    def __init__(self, tool: str, text: str) -> None:
        found = re.fullmatch(r"(\S+) ([^/$\s][^/]*)((?:/[^/]+)*)", text)
        self._steps = found.group(3).split("/")[1:] if found else []
        if found is None or any(step in (".", "..", "$") for step in self._steps):
            raise TypeError(f'The needs of {tool}: expected an action and a resource, such as "send mail/$to", not "{text}".')
        self._tool = tool
        self._action, self._namespace = found.group(1), found.group(2)

    def check(self, signature: inspect.Signature) -> None:
        for step in self._steps:
            if step.startswith("$") and step[1:] not in signature.parameters:
                raise TypeError(f"The needs of {self._tool}: it has no parameter {step[1:]}.")

    def requests(self, arguments: Mapping[str, Json]) -> List[Dict[str, Any]]:
        return [
            {"action": self._action, "resource": {"namespace": self._namespace, "path": path}}
            for path in self._paths(self._steps, arguments)
        ]

    def _paths(self, steps: Sequence[str], arguments: Mapping[str, Json]) -> Iterator[List[str]]:
        if not steps:
            yield []
            return
        first = steps[0]
        values = self._values(first[1:], arguments) if first.startswith("$") else [first]
        for value in values:
            for rest in self._paths(steps[1:], arguments):
                yield [value, *rest]

    def _values(self, name: str, arguments: Mapping[str, Json]) -> List[str]:
        value = arguments[name]
        values = value if isinstance(value, list) else [value]
        # What a call needs has to be said exactly: a number with a fraction can be written in more than one way.
        if not values or not all(type(one) in (str, int) and one != "" for one in values):
            raise ValueError(f"{name}: expected a text, a whole number, or a list of them, because {self._tool} needs it")
        return [_segment(str(one)) for one in values]


def _pause_after(failures: int) -> float:
    """Half of it is left to chance, so that many who lost one gate do not come back at once."""
    return min(0.25 * 2**failures, 15) * random.uniform(0.5, 1)


def _segment(text: str) -> str:
    """A text as one step of a path. No two texts become the same step."""
    if text in (".", ".."):
        return text.replace(".", "%2E")
    return re.sub(r"[%/\\\x00-\x1f\x7f-\x9f]", lambda found: quote(found.group(), safe=""), text)


def _request_of(act: Act, is_run: bool = False) -> Dict[str, Any]:
    if is_run and "dryRun" in act:
        raise TypeError("A dry run allows nothing: begin it, and do not run it.")
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"version": 1, "requestedAt": now, "traceId": str(uuid.uuid4()), **act}


def _replay_of(state: Mapping[str, Any]) -> Json:
    """What was recorded of an act that is not to be carried out now."""
    if state["status"] == "succeeded":
        return state.get("output")
    if state["status"] == "failed":
        raise ActFailed(state)
    if state["status"] == "interrupted":
        raise ActInterrupted(state["id"])
    raise ActDenied(state)


def _failure_of(error: BaseException) -> Dict[str, Any]:
    is_cancelled = isinstance(error, (asyncio.CancelledError, KeyboardInterrupt))
    text = str(error).encode("utf-8", "replace").decode()[:4096] or type(error).__name__
    return {"status": "failed", "error": {"code": "cancelled" if is_cancelled else "effect_failed", "message": text}}


def _output_of(output: Any) -> Dict[str, Json]:
    try:
        return {"output": json.loads(json.dumps(output, allow_nan=False))}
    except (TypeError, ValueError, RecursionError):
        return {}


def _refusal_of(error: HTTPError) -> GateError:
    try:
        said = json.load(error)["error"]
        return GateError(str(said["code"]), str(said["message"]), error.code)
    except (KeyError, TypeError, ValueError, OSError, HTTPException):
        return GateError("refused", f"The gate answered with status {error.code}.", error.code)

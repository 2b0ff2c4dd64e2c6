"""A turn as a signed HTTP call (Standard Webhooks): checked, run, and answered as Wakeful reads it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import inspect
import json
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Awaitable, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

TOLERANCE_SECONDS = 300
BODY_MAX_BYTES = 4 * 1024 * 1024
_REMEMBERED_MAX = 10_000
_ERROR_MAX = 2_000

Secrets = Union[str, Sequence[str]]
Json = Any


class TerminalError(Exception):
    """This will never succeed: the turn is not tried again."""


class RetryableError(Exception):
    """The turn is tried again, no sooner than `retry_after` seconds from now."""

    def __init__(self, message: str = "try again later", retry_after: float = 0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


# What cannot succeed when it is tried again.
_TERMINAL = (TerminalError, TypeError, ValueError, AttributeError, NameError, SyntaxError)


def _signatures(message_id: str, sent_at: str, body: bytes, secret: Secrets) -> List[bytes]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(secrets):
        raise ValueError("secret: is missing")
    signed = f"{message_id}.{sent_at}.".encode() + body
    found = []
    for each in secrets:
        bare = each[len("whsec_") :] if each.startswith("whsec_") else each
        try:
            key = base64.b64decode(bare, validate=True)
        except binascii.Error:
            raise ValueError('secret: must be "whsec_" and base64') from None
        found.append(b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()))
    return found


def _checked(
    headers: Mapping[str, str], body: bytes, secret: Secrets, now: float
) -> tuple[Optional[bytes], str]:
    """The matching signature, or None and the reason."""
    lower = {str(name).lower(): str(value) for name, value in headers.items()}
    message_id, sent_at = lower.get("webhook-id", ""), lower.get("webhook-timestamp", "")
    wrong = (None, "the signature is not valid")
    if not message_id or not (sent_at.isascii() and sent_at.isdigit()) or len(sent_at) > 12:
        return wrong
    expected = _signatures(message_id, sent_at, body, secret)
    # Several signatures stand side by side while a secret is being changed.
    given = lower.get("webhook-signature", "").encode().split(b" ")
    right = [one for one in expected for each in given if hmac.compare_digest(one, each)]
    if not right:
        return wrong
    if abs(now - int(sent_at)) > TOLERANCE_SECONDS:
        return None, "it was signed more than five minutes ago, or ahead"
    return right[0], ""


def verify(
    headers: Mapping[str, str], body: bytes, secret: Secrets, now: Optional[float] = None
) -> bool:
    """Did Wakeful send exactly these bytes, and within the last five minutes?"""
    return _checked(headers, body, secret, time.time() if now is None else now)[0] is not None


class _Taken:
    """Calls that were taken, by their signatures: attempts at one event share an id, and are signed each for itself."""

    def __init__(self) -> None:
        self._until: "OrderedDict[bytes, float]" = OrderedDict()
        self._lock = threading.Lock()

    def add(self, call: bytes, now: float) -> bool:
        """False for one that was there before."""
        with self._lock:
            if call in self._until:
                return False
            while self._until:
                _, until = next(iter(self._until.items()))
                if until > now and len(self._until) < _REMEMBERED_MAX:
                    break
                self._until.popitem(last=False)
            self._until[call] = now + 2 * TOLERANCE_SECONDS
            return True


_taken = _Taken()


@dataclass(frozen=True)
class Event:
    id: str
    seq: int
    #: user_message, timer, tool_result, alarm, intent, work or digest
    type: str
    payload: Json
    created_at: datetime


@dataclass(frozen=True)
class Session:
    key: str
    user_id: str
    agent_id: str
    thread_id: str


@dataclass(frozen=True)
class Person:
    id: str
    #: While nobody knows it, the server's own.
    timezone: str
    timezone_known: bool
    #: When the turn began, by Wakeful's time.
    now: datetime
    #: The same where they are: "Wednesday 2026-11-18 10:20".
    local_time: str


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _event(posted: Mapping[str, Json]) -> Event:
    return Event(
        id=posted["id"],
        seq=posted["seq"],
        type=posted["type"],
        payload=posted["payload"],
        created_at=_instant(posted["created_at"]),
    )


class Turn:
    """What the agent gets. Nothing it asks for happens before Wakeful has committed the turn."""

    event: Event
    #: A JSON object; change it in place. What it is at the end is committed.
    state: Dict[str, Json]

    def __init__(self, posted: Mapping[str, Json]) -> None:
        session, person = posted["session"], posted.get("person", {})
        self.event = _event(posted["event"])
        #: Earlier messages that this turn answers, too, oldest first.
        self.merged = [_event(each) for each in posted.get("merged", [])]
        self.session = Session(
            key=session["key"],
            user_id=session.get("user_id", ""),
            agent_id=session.get("agent_id", ""),
            thread_id=session.get("thread_id", ""),
        )
        now = _instant(person["now"]) if "now" in person else self.event.created_at
        self.person = Person(
            id=self.session.user_id,
            timezone=person.get("timezone", "UTC"),
            timezone_known=person.get("timezone_known", False),
            now=now,
            local_time=person.get("local_time", ""),
        )
        #: The newest events up to this one, oldest first.
        self.history = [_event(each) for each in posted.get("history", [])]
        #: From 1.
        self.attempt: int = posted.get("attempt", 1)
        self.deadline = _instant(posted["deadline"]) if "deadline" in posted else None
        #: Why it runs once more, before anything of its first answer is written.
        self.remark: Optional[str] = posted.get("remark")
        self.state = posted.get("state", {})
        self._before = json.dumps(self.state, sort_keys=True)
        self._effects: List[Dict[str, Json]] = []
        self._spent: Optional[Dict[str, float]] = None

    @property
    def answer(self) -> Optional[Dict[str, Json]]:
        """The question that this event answers, and with what; None where it answers none."""
        for event in [self.event, *self.merged]:
            if event.type in ("user_message", "tool_result") and event.payload.get("question"):
                return event.payload["question"]
        return None

    def say(self, text: str) -> None:
        """Sends a message: an answer, or a word of the agent's own."""
        if not isinstance(text, str) or not text.strip():
            raise TypeError("say: takes a text that is not blank")
        self._effects.append({"type": "send_message", "content": text})

    def schedule(self, name: str, **spec: Json) -> None:
        """Sets what wakes this agent: exactly one of in_, at, every and when. The same name again replaces it.

        What is wrong with it fails the turn, with the reason.
        """
        fields = {key.rstrip("_"): _wired(value) for key, value in spec.items()}
        self._effects.append({**fields, "type": "schedule", "name": name})

    def cancel(self, name: str) -> None:
        """Removes a schedule. One that does not exist is no error."""
        self._effects.append({"type": "cancel", "name": name})

    def ask(
        self,
        text: str,
        options: Optional[Sequence[str]] = None,
        default: Optional[str] = None,
        until: Optional[str] = None,
        payload: Json = None,
    ) -> None:
        """Asks the person; the answer comes as an event of its own, see `answer`."""
        asked = {"options": options, "default": default, "until": until, "payload": payload}
        given = {name: value for name, value in asked.items() if value is not None}
        self._effects.append({"type": "ask", "content": text, **given})

    def cancel_question(self, id: str) -> None:
        self._effects.append({"type": "cancel_question", "id": id})

    def silent(self, reason: Optional[str] = None) -> None:
        """Says nothing, on purpose: the reason is kept with the turn and shown by the ledger."""
        self._effects.append({"type": "silent", **({} if reason is None else {"reason": reason})})

    def spent(self, tokens: float = 0, usd: float = 0, calls: float = 1) -> None:
        """Reports what this turn has used up, as often as it likes: it adds up."""
        before = self._spent or {"tokens": 0, "usd": 0, "calls": 0}
        self._spent = {
            "tokens": before["tokens"] + tokens,
            "usd": before["usd"] + usd,
            "calls": before["calls"] + calls,
        }

    def _finished(self) -> bytes:
        answer: Dict[str, Json] = {"effects": self._effects}
        # A state that is as it was is left out: it stays as Wakeful has it.
        if json.dumps(self.state, sort_keys=True) != self._before:
            answer["state"] = self.state
        if self._spent is not None:
            answer["spent"] = self._spent
        return json.dumps(answer, allow_nan=False).encode()


def _wired(value: Json) -> Json:
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.astimezone()
        return aware.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        return {name: _wired(each) for name, each in value.items()}
    return value


Agent = Callable[[Turn], Union[None, Awaitable[None]]]


class Answer(NamedTuple):
    status: int
    headers: Dict[str, str]
    body: bytes


def handle_turn(
    headers: Mapping[str, str],
    body: bytes,
    agent: Agent,
    secret: Secrets,
    now: Optional[float] = None,
) -> Answer:
    """Answers a call of Wakeful: 401 for one that is not signed, late or replayed; else what the agent wants.

    An error that cannot succeed when it is tried again is 422, any other is 500, and Wakeful tries again.
    """
    if len(body) > BODY_MAX_BYTES:
        return _problem(413, f"takes at most {BODY_MAX_BYTES} bytes")
    at = time.time() if now is None else now
    call, why = _checked(headers, body, secret, at)
    if call is None:
        return _problem(401, why)
    if not _taken.add(call, at):
        return _problem(401, "this call was taken before")
    try:
        posted = json.loads(body)
    except ValueError:
        posted = None
    if not isinstance(posted, dict) or posted.get("type") != "turn":
        return _problem(422, "the body is not a turn")
    try:
        turn = Turn(posted)
        running = agent(turn)
        if inspect.isawaitable(running):
            asyncio.run(_awaited(running))
        return Answer(200, {"content-type": "application/json"}, turn._finished())
    except RetryableError as error:
        seconds = max(0, -(-error.retry_after // 1))
        return _problem(503, str(error), {"retry-after": str(int(seconds))})
    except _TERMINAL as error:
        return _problem(422, f"{type(error).__name__}: {error}")
    except Exception as error:  # whatever an agent raises is told to Wakeful, which tries again
        return _problem(500, f"{type(error).__name__}: {error}")


async def _awaited(running: Awaitable[None]) -> None:
    await running


def _problem(status: int, text: str, headers: Optional[Dict[str, str]] = None) -> Answer:
    """Wakeful keeps the text with the turn."""
    own = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    return Answer(status, own, text[:_ERROR_MAX].encode())

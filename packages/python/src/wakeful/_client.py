"""A client for Wakeful's HTTP API: schedules, messages, alarms and people."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, TypedDict, cast
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from ._remote import _wired

Kind = Literal["timer", "alarm", "intent", "work"]
Status = Literal["active", "paused", "done", "failed"]


class LastRun(TypedDict):
    at: str
    outcome: str


class Schedule(TypedDict):
    kind: Kind
    ref: str
    id: str
    name: str
    user_id: str
    agent_id: Optional[str]
    thread_id: Optional[str]
    description: str
    note: str
    timezone: str
    next_at: Optional[str]
    next: List[str]
    last: Optional[LastRun]
    status: Status
    words: str


class StoredEvent(TypedDict):
    id: str
    session_key: str
    seq: int
    type: str
    payload: Any
    created_at: str


class Effect(TypedDict):
    id: str
    type: str
    payload: Any
    status: Literal["pending", "executing", "completed", "failed"]
    reason: Literal["answer", "follow_up", "promise", "notice"]
    channel: Optional[str]
    last_error: Optional[str]
    created_at: str
    updated_at: str


class Alarm(TypedDict, total=False):
    id: str
    user_id: str
    agent_id: str
    label: str
    kind: Literal["once", "cron"]
    cron_expr: str
    timezone: str
    wake_message: str
    payload: Any
    status: Literal["active", "paused", "fired", "cancelled", "failed"]
    next_fire_at: str
    next_fires: List[str]
    description: str
    words: str
    deduped: bool


class KnownPerson(TypedDict):
    user_id: str
    timezone: Optional[str]
    last_seen_at: Optional[str]
    next_at: Optional[str]
    sessions: int
    paused_until: Optional[str]


class Preferences(TypedDict):
    user_id: str
    timezone: str
    timezone_known: bool
    quiet_hours: List[Dict[str, Any]]
    most_unasked_per_day: Optional[int]
    paused_until: Optional[str]
    muted_agents: List[str]
    words: List[str]


class WakefulError(Exception):
    """A refusal of the server, with all its reasons."""

    def __init__(self, status: int, errors: Sequence[str], request_id: Optional[str] = None) -> None:
        super().__init__("; ".join(errors) or f"HTTP {status}")
        self.status = status
        self.errors = list(errors)
        self.request_id = request_id


class Wakeful:
    """`key`: an API key; none where the server is open. `act_as`: for whom an admin or service key acts."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8787",
        key: Optional[str] = None,
        act_as: Optional[str] = None,
        timeout: float = 30,
    ) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout
        self._headers = {"accept": "application/json"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {key}"
        if act_as is not None:
            self._headers["wakeful-act-as"] = act_as
        self.schedules = Schedules(self)
        self.messages = Messages(self)
        self.alarms = Alarms(self)
        self.people = People(self)

    def call(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        """Any operation of the API. The answer's JSON, or None without one."""
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self._url}{path}" + (f"?{urlencode(asked)}" if asked else "")
        headers = dict(self._headers)
        data = None
        if body is not None:
            headers["content-type"] = "application/json"
            data = json.dumps(_wired(_given(body)), allow_nan=False).encode()
        request = Request(url, data=data, headers=headers, method=method)
        try:
            with urlopen(request, timeout=self._timeout) as reply:
                text = reply.read()
        except HTTPError as error:
            raise _refusal(error) from None
        return json.loads(text) if text else None

    def pages(self, path: str, query: Mapping[str, Any]) -> Iterator[Any]:
        """All rows of a list, page by page."""
        asked = dict(query)
        while True:
            page = self.call("GET", path, asked)
            yield from page["data"]
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]


def _given(fields: Mapping[str, Any]) -> Dict[str, Any]:
    return {name.rstrip("_"): value for name, value in fields.items() if value is not None}


def _refusal(error: HTTPError) -> WakefulError:
    try:
        problem = json.loads(error.read())
        return WakefulError(error.code, problem.get("errors", []), problem.get("request_id"))
    except ValueError:
        return WakefulError(error.code, [f"HTTP {error.code}"])


def _part(text: str) -> str:
    return quote(text, safe="")


class _Area:
    def __init__(self, client: Wakeful) -> None:
        self._client = client


class Schedules(_Area):
    """Timers, alarms, intents and work by name."""

    def set(self, name: str, **spec: Any) -> Schedule:
        """Exactly one of in_, at, every and when says when; also note, data, timezone, user_id, agent_id …"""
        return cast(Schedule, self._client.call("PUT", f"/v1/schedules/{_part(name)}", body=spec))

    def each(
        self,
        user_id: Optional[str] = None,
        agent_id: Optional[str] = None,
        kind: Optional[Kind] = None,
        status: Optional[Status] = None,
        q: Optional[str] = None,
    ) -> Iterator[Schedule]:
        asked = {"user_id": user_id, "agent_id": agent_id, "kind": kind, "status": status, "q": q}
        return self._client.pages("/v1/schedules", asked)

    def update(self, ref: str, user_id: Optional[str] = None, **spec: Any) -> Schedule:
        path = f"/v1/schedules/{_part(ref)}"
        return cast(Schedule, self._client.call("PATCH", path, {"user_id": user_id}, spec))

    def pause(self, ref: str, user_id: Optional[str] = None) -> Schedule:
        return self._verb(ref, "pause", user_id)

    def resume(self, ref: str, user_id: Optional[str] = None) -> Schedule:
        return self._verb(ref, "resume", user_id)

    def run(self, ref: str, user_id: Optional[str] = None) -> Schedule:
        """Now; also one that has failed or ended."""
        return self._verb(ref, "run", user_id)

    def cancel(self, ref: str, user_id: Optional[str] = None) -> Schedule:
        path = f"/v1/schedules/{_part(ref)}"
        return cast(Schedule, self._client.call("DELETE", path, {"user_id": user_id}))

    def _verb(self, ref: str, verb: str, user_id: Optional[str]) -> Schedule:
        path = f"/v1/schedules/{_part(ref)}/{verb}"
        return cast(Schedule, self._client.call("POST", path, {"user_id": user_id}))


class Messages(_Area):
    """What people say to agents, and what agents say."""

    def post(self, session_key: str, text: str, id: Optional[str] = None) -> StoredEvent:
        """`id`, your own, makes it safe to send the same again."""
        path = f"/v1/sessions/{_part(session_key)}/messages"
        answer = self._client.call("POST", path, body={"text": text, "id": id})
        return cast(StoredEvent, answer["event"])

    def sent(self, session_key: str, after_seq: Optional[int] = None) -> Iterator[Effect]:
        """The agent's messages, oldest first."""
        path = f"/v1/sessions/{_part(session_key)}/effects"
        for effect in self._client.pages(path, {"after_seq": after_seq}):
            if effect["type"] == "send_message":
                yield effect

    def events(self, session_key: str, after_seq: Optional[int] = None) -> Iterator[StoredEvent]:
        path = f"/v1/sessions/{_part(session_key)}/events"
        return self._client.pages(path, {"after_seq": after_seq})


class Alarms(_Area):
    """What an agent is woken for, by time."""

    def set(self, wake_message: str, **fields: Any) -> Alarm:
        """schedule="tomorrow at 9am", or kind with fire_at, delay_seconds or cron_expr; agent_id, payload …"""
        body = {"wake_message": wake_message, **fields}
        return cast(Alarm, self._client.call("POST", "/v1/alarms", body=body))

    def each(
        self,
        user_id: Optional[str] = None,
        agent_id: Optional[str] = None,
        status: Optional[str] = None,
        q: Optional[str] = None,
    ) -> Iterator[Alarm]:
        asked = {"user_id": user_id, "agent_id": agent_id, "status": status, "q": q}
        return self._client.pages("/v1/alarms", asked)

    def get(self, id: str) -> Alarm:
        return cast(Alarm, self._client.call("GET", f"/v1/alarms/{_part(id)}"))

    def update(self, id: str, **fields: Any) -> Alarm:
        return cast(Alarm, self._client.call("PATCH", f"/v1/alarms/{_part(id)}", body=fields))

    def cancel(self, id: str) -> Alarm:
        return cast(Alarm, self._client.call("DELETE", f"/v1/alarms/{_part(id)}"))


class People(_Area):
    """When, how often and by whom people want to be spoken to."""

    def each(
        self,
        q: Optional[str] = None,
        order: Literal["last_seen", "next", "name"] = "last_seen",
    ) -> Iterator[KnownPerson]:
        return self._client.pages("/v1/people", {"q": q, "order": order})

    def get(self, user_id: str) -> Preferences:
        return cast(Preferences, self._client.call("GET", f"/v1/people/{_part(user_id)}"))

    def set(self, user_id: str, **preferences: Any) -> Preferences:
        """timezone, quiet_hours, most_unasked_per_day, muted_agents. What is left out stays."""
        path = f"/v1/people/{_part(user_id)}"
        return cast(Preferences, self._client.call("PUT", path, body=preferences))

    def pause(self, user_id: str, until: "str | datetime") -> Preferences:
        path = f"/v1/people/{_part(user_id)}/pause"
        return cast(Preferences, self._client.call("POST", path, body={"until": until}))

    def end_pause(self, user_id: str) -> Preferences:
        return cast(Preferences, self._client.call("DELETE", f"/v1/people/{_part(user_id)}/pause"))

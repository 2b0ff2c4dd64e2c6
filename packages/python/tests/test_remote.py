"""verify and handle_turn, without a server."""

import base64
import hashlib
import hmac
import json
import unittest
from datetime import datetime, timezone

from wakeful import RetryableError, TerminalError, Turn, handle_turn, verify

SECRET = "whsec_" + base64.b64encode(b"7" * 32).decode()
OLD = "whsec_" + base64.b64encode(b"1" * 24).decode()
NOW = 1_767_225_600
TURN = {
    "type": "turn",
    "session": {"key": "ann:far:t", "user_id": "ann", "agent_id": "far", "thread_id": "t"},
    "person": {"id": "ann", "timezone": "Europe/Berlin", "timezone_known": True, "now": "2026-01-01T00:00:00.000Z", "local_time": "Thursday 2026-01-01 01:00"},
    "event": {"id": "e", "seq": 1, "type": "user_message", "payload": {"text": "hi"}, "created_at": "2026-01-01T00:00:00.000Z"},
    "state": {"n": 12345678901234567890},
    "history": [],
    "attempt": 1,
    "deadline": "2026-01-01T00:01:00.000Z",
}

calls = 0


def signed(body=None, secret=SECRET, at=NOW, id=None):
    global calls
    calls += 1
    body = json.dumps(TURN).encode() if body is None else body
    id = id or f"call-{calls}"
    key = base64.b64decode(secret[len("whsec_") :])
    mac = hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(mac).decode()
    return {"Webhook-Id": id, "Webhook-Timestamp": str(at), "Webhook-Signature": signature}, body


def handle(agent, call=None, secret=SECRET):
    headers, body = call or signed()
    return handle_turn(headers, body, agent, secret, now=NOW)


class Verify(unittest.TestCase):
    def test_right_wrong_and_late(self):
        headers, body = signed()
        self.assertTrue(verify(headers, body, SECRET, now=NOW))
        self.assertTrue(verify(headers, body, [OLD, SECRET], now=NOW + 299))
        self.assertFalse(verify(headers, body, OLD, now=NOW))
        self.assertFalse(verify(headers, body + b" ", SECRET, now=NOW))
        self.assertFalse(verify(headers, body, SECRET, now=NOW + 301))
        self.assertFalse(verify(headers, body, SECRET, now=NOW - 301))
        self.assertFalse(verify({}, body, SECRET))
        with self.assertRaises(ValueError):
            verify(headers, body, "")


class HandleTurn(unittest.TestCase):
    def test_answers_with_what_the_turn_asks_for(self):
        def agent(turn: Turn) -> None:
            self.assertEqual(turn.person.timezone, "Europe/Berlin")
            self.assertEqual(turn.event.payload, {"text": "hi"})
            turn.say("first")
            turn.schedule("nudge", in_="10 minutes", cancel_on_reply=True, data={"n": 1})
            turn.schedule("later", at=datetime(2030, 1, 1, 9, tzinfo=timezone.utc))
            turn.cancel("old")
            turn.ask("Send it?", options=["Yes", "No"], default="No", until="in 2 hours")
            turn.spent(tokens=5, usd=0.5)
            turn.state["said"] = 1

        answer = handle(agent)
        self.assertEqual(answer.status, 200)
        self.assertEqual(
            json.loads(answer.body),
            {
                "effects": [
                    {"type": "send_message", "content": "first"},
                    {"type": "schedule", "name": "nudge", "in": "10 minutes", "cancel_on_reply": True, "data": {"n": 1}},
                    {"type": "schedule", "name": "later", "at": "2030-01-01T09:00:00Z"},
                    {"type": "cancel", "name": "old"},
                    {"type": "ask", "content": "Send it?", "options": ["Yes", "No"], "default": "No", "until": "in 2 hours"},
                ],
                "state": {"n": 12345678901234567890, "said": 1},
                "spent": {"tokens": 5, "usd": 0.5, "calls": 1},
            },
        )

    def test_awaits_an_async_agent_and_leaves_out_a_state_that_is_as_it_was(self):
        async def agent(turn):
            turn.silent("nothing new")

        self.assertEqual(
            json.loads(handle(agent).body), {"effects": [{"type": "silent", "reason": "nothing new"}]}
        )

    def test_refuses_wrong_late_and_replayed_calls(self):
        def never(turn):
            raise AssertionError("it ran")

        self.assertEqual(handle(never, signed(secret=OLD)).status, 401)
        self.assertEqual(handle(never, signed(at=NOW - 301)).status, 401)
        call = signed(id="same")
        self.assertEqual(handle(lambda turn: None, call).status, 200)
        self.assertEqual(handle(never, call).body, b"this call was taken before")
        again = json.dumps({**TURN, "attempt": 2}).encode()
        self.assertEqual(handle(lambda turn: None, signed(again, id="same")).status, 200)
        self.assertEqual(handle(never, signed(b"[]")).status, 422)

    def test_says_how_a_failure_is_meant(self):
        def raising(error):
            def agent(turn):
                raise error

            answer = handle(agent)
            return answer.status, answer.headers.get("retry-after"), answer.body.decode()

        self.assertEqual(raising(TerminalError("no")), (422, None, "TerminalError: no"))
        self.assertEqual(raising(KeyError("x"))[0], 500)
        self.assertEqual(raising(TypeError("x"))[0], 422)
        self.assertEqual(raising(RetryableError("busy", retry_after=1.5)), (503, "2", "busy"))


if __name__ == "__main__":
    unittest.main()

"""A remote agent for Wakeful, with Python's standard library alone.

Wakeful posts each turn here, signed (Standard Webhooks); the answer says what to remember and what to do.
Nothing happens before Wakeful has committed it, and a turn may be posted again: answer from what it says.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["AGENT_SECRET"]  # whsec_…, as Wakeful showed it when the agent was registered
FOLLOW_UP_SECONDS = float(os.environ.get("AGENT_FOLLOW_UP_SECONDS", "3600"))
TOLERANCE_SECONDS = 300
BODY_MAX_BYTES = 4 * 1024 * 1024


def verified(headers, body: bytes) -> bool:
    """Did Wakeful send exactly these bytes, and just now?"""
    message_id, sent_at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_at.isdigit() or abs(time.time() - int(sent_at)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f"{message_id}.{sent_at}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # Several signatures stand side by side while a secret is being changed.
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in given)


def take_turn(turn: dict) -> dict:
    event, state = turn["event"], turn["state"]
    if event["type"] == "user_message":
        text = event["payload"]["text"]
        state["said"] = (state.get("said", []) + [text])[-10:]
        return {
            "state": state,
            "effects": [
                {"type": "send_message", "content": f"You said: {text}"},
                # Asked again later, unless the user speaks first.
                {"type": "schedule_timer", "timer_id": "check-in", "delay_seconds": FOLLOW_UP_SECONDS},
            ],
        }
    if event["type"] == "timer":
        last = state.get("said", ["nothing"])[-1]
        return {"effects": [{"type": "send_message", "content": f"Still thinking about: {last}"}]}
    if event["type"] == "alarm":
        return {"effects": [{"type": "send_message", "content": event["payload"]["wake_message"]}]}
    return {"effects": []}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        if length > BODY_MAX_BYTES:
            return self.answer(413, {"error": "too long"})
        body = self.rfile.read(length)
        if not verified(self.headers, body):
            return self.answer(401, {"error": "the signature is not valid"})
        self.answer(200, take_turn(json.loads(body)))

    def answer(self, status: int, value: dict):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()

"""A remote agent for Wakeful, with Python's standard library alone.

Wakeful posts each turn here, signed; the answer says what to remember and what to do. Nothing happens before
Wakeful has committed it, and a turn may be posted again: answer from what it says.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wakeful import Turn, handle_turn

SECRET = os.environ["AGENT_SECRET"]  # whsec_…, as Wakeful showed it when the agent was registered
FOLLOW_UP_SECONDS = float(os.environ.get("AGENT_FOLLOW_UP_SECONDS", "3600"))
BODY_MAX_BYTES = 4 * 1024 * 1024


def agent(turn: Turn) -> None:
    event, state = turn.event, turn.state
    if event.type == "user_message":
        text = event.payload["text"]
        state["said"] = (state.get("said", []) + [text])[-10:]
        turn.say(f"You said: {text}")
        # Asked again later, unless the user speaks first.
        turn.schedule("check-in", in_=FOLLOW_UP_SECONDS, cancel_on_reply=True)
    elif event.type == "timer":
        last = state.get("said", ["nothing"])[-1]
        turn.say(f"Still thinking about: {last}")
    elif event.type == "alarm":
        turn.say(event.payload["wake_message"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(min(length, BODY_MAX_BYTES + 1))
        status, headers, data = handle_turn(self.headers, body, agent, SECRET)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9000), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()

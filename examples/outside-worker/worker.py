#!/usr/bin/env python3
"""A worker outside Wakeful: asks which intents are due, looks at the world, acts, and reports.

Needs nothing but Python 3. What the world looks like comes from a module of yours (see facts.py).
"""

import argparse
import importlib.util
import json
import operator
import os
import sys
import time
import urllib.error
import urllib.request

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Api:
    def __init__(self, url, key):
        self.url = url.rstrip("/")
        self.headers = {"content-type": "application/json"}
        if key:
            self.headers["authorization"] = f"Bearer {key}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self.headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def pending(self, claim):
        if claim:
            return self.call("POST", "/v1/intents/claims", {"seconds": claim})
        return self.call("GET", "/v1/intents/pending")

    def fire(self, intent, report):
        if "claim_token" in intent:
            report["claim_token"] = intent["claim_token"]
        return self.call("POST", f"/v1/intents/{intent['id']}/fire", report)


def evaluate(intent, facts):
    """Whether the intent's time or condition has come, and what was seen."""
    kind = intent["trigger_type"]
    condition = intent["trigger_condition"] or {}
    if kind == "price":
        price = facts.price(condition["ticker"])
        seen = {"ticker": condition["ticker"], "price": price}
        compare = OPERATORS[condition["operator"]]
        return price is not None and compare(price, condition["value"]), seen
    if kind == "silence":
        hours = facts.silent_hours(intent["user_id"])
        return hours is not None and hours >= condition["threshold_hours"], {"silent_hours": hours}
    if kind in ("news", "event"):
        keywords = [word.casefold() for word in condition["keywords"]]
        for text in facts.texts(kind):
            padded = " " + " ".join("".join(c if c.isalnum() else " " for c in text).split()) + " "
            if any(f" {word} " in padded.casefold() for word in keywords):
                return True, {"text": text}
        return False, {}
    if kind == "calendar":
        minutes = facts.minutes_to_next_entry(intent["user_id"])
        return minutes is not None and 0 <= minutes <= condition.get("value", 15), {"minutes": minutes}
    return True, {"due": intent["next_check"]}


def work_on(intent, facts):
    """One intent: look, ask the gate, act. Answers with the report."""
    began = time.monotonic()
    met, seen = evaluate(intent, facts)
    report = {"trigger_data": seen, "evaluation_ms": round((time.monotonic() - began) * 1000)}
    if not met:
        return {**report, "status": "condition_not_met"}
    gate = facts.gate(intent)
    report["gate_result"] = gate
    if not gate["allowed"]:
        return {**report, "status": "gate_blocked"}
    began = time.monotonic()
    message_id, text = facts.deliver(intent, seen)
    return {
        **report,
        "status": "success",
        "message_id": message_id,
        "message_preview": text[:200],
        "delivery_ms": round((time.monotonic() - began) * 1000),
    }


def poll(api, facts, claim=0):
    """All that is due now. Answers how many were reported."""
    reported = 0
    for intent in api.pending(claim):
        try:
            report = work_on(intent, facts)
        except Exception as error:  # one intent's trouble is reported, and the others go on
            report = {"status": "failed", "error_message": f"{type(error).__name__}: {error}"}
        try:
            answer = api.fire(intent, report)
        except urllib.error.HTTPError as error:
            # Deleted, disabled or taken by another worker meanwhile.
            if error.code not in (404, 409):
                raise
            print(f"{intent['intent_name']}: not reported, {error.code}", file=sys.stderr)
            continue
        reported += 1
        after = answer["next_check"] or answer.get("was_disabled_reason")
        print(f"{intent['intent_name']}: {report['status']}, then {after}", file=sys.stderr)
    return reported


def load(path):
    spec = importlib.util.spec_from_file_location("facts", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--url", default=os.environ.get("WAKEFUL_URL", "http://127.0.0.1:8787"))
    options.add_argument("--facts", default=os.path.join(here, "facts.py"), help="your module")
    options.add_argument("--once", action="store_true", help="one poll, then end")
    options.add_argument("--every", type=float, default=30, help="seconds between polls")
    options.add_argument("--claim", type=int, default=0, help="lease what is due for so many seconds")
    args = options.parse_args()
    api, facts = Api(args.url, os.environ.get("WAKEFUL_KEY")), load(args.facts)
    while True:
        try:
            poll(api, facts, args.claim)
        except (urllib.error.URLError, TimeoutError) as error:
            if args.once:
                sys.exit(f"worker: {error}")
            print(f"worker: {error}; trying again", file=sys.stderr)
        if args.once:
            return
        time.sleep(args.every)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)

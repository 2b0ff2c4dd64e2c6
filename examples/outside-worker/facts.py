"""What the worker knows of the world, and how it speaks. Replace these functions with your own."""

import json
import os
import uuid

PRICES = os.environ.get("PRICES", "prices.json")


def price(ticker):
    """The newest price, or None when it is not known. Here from a file such as {"NVDA": 129.5}."""
    try:
        with open(PRICES, encoding="utf-8") as file:
            return json.load(file).get(ticker)
    except FileNotFoundError:
        return None


def silent_hours(user_id):
    """Hours since the user last wrote, or None."""
    return None


def texts(kind):
    """Headlines (kind "news") or events that are new since the last call."""
    return []


def minutes_to_next_entry(user_id):
    """Minutes until the user's next calendar entry starts, or None."""
    return None


def gate(intent):
    """May we speak now? {"allowed": False, "defer_until": "2030-01-31T07:00:00Z"} asks for later."""
    return {"allowed": True}


def deliver(intent, seen):
    """Says it. Answers with the message's id and its text."""
    text = f"{intent['action_context']} {json.dumps(seen)}"
    print(text, flush=True)
    return str(uuid.uuid4()), text

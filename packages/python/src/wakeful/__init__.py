"""Wakeful in Python: agents behind a route of your own, and a client. Standard library only."""

from ._client import Wakeful, WakefulError
from ._remote import (
    Answer,
    Event,
    Person,
    RetryableError,
    Session,
    TerminalError,
    Turn,
    handle_turn,
    verify,
)

__all__ = [
    "Answer",
    "Event",
    "Person",
    "RetryableError",
    "Session",
    "TerminalError",
    "Turn",
    "Wakeful",
    "WakefulError",
    "handle_turn",
    "verify",
]

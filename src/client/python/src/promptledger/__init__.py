"""The client of promptledger: it reads prompts, caches them, fills in their variables, and records the calls of models."""

from .aio import AsyncClient
from .client import Client
from .connection import Request, Response, Transport
from .engine import Stats
from .errors import (
    AuthenticationError,
    InvalidRequestError,
    MissingVariables,
    NotFoundError,
    PromptLedgerError,
    QuotaExceededError,
    UnavailableError,
)
from .events import ChangeEvent, DropEvent, ErrorEvent, RecoverEvent, StaleEvent
from .fill import Message, MessageLists, Values
from .options import Mask, PromptDefaults, Record, SnapshotStore
from .prompt import Fallback, ModelCall, Prompt, PromptSource
from .queues import Totals
from .version import version as __version__

__all__ = [
    "AsyncClient",
    "AuthenticationError",
    "ChangeEvent",
    "Client",
    "DropEvent",
    "ErrorEvent",
    "Fallback",
    "InvalidRequestError",
    "Mask",
    "Message",
    "MessageLists",
    "MissingVariables",
    "ModelCall",
    "NotFoundError",
    "Prompt",
    "PromptDefaults",
    "PromptLedgerError",
    "PromptSource",
    "QuotaExceededError",
    "Record",
    "RecoverEvent",
    "Request",
    "Response",
    "SnapshotStore",
    "StaleEvent",
    "Stats",
    "Totals",
    "Transport",
    "UnavailableError",
    "Values",
    "__version__",
]

"""Tokens with which a browser may give feedback on one record. They are made without asking the service: they are signed with a
key that follows from the hash of the API key, which the service has too."""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
from datetime import datetime, timedelta
from typing import Optional, Sequence, Union

from .errors import invalid_argument
from .limits import LONG_TOKEN_DAYS, TOKEN_DAYS
from .record import to_json

_longest = 3_048  # characters, as the service reads them
_day = 86_400_000


def make_token(
    api_key: str,
    record: Optional[str],
    is_stored: bool,
    names: Sequence[str],
    expires: Union[timedelta, datetime],
    author: str,
    now: int,
) -> str:
    """Makes a token for a record, at a time in Unix ms. Raises a PromptLedgerError if it could not be used."""

    def need(is_given: object, message: str) -> None:
        if not is_given:
            raise invalid_argument(message)

    need(isinstance(expires, (timedelta, datetime)), "expires must be a timedelta or a datetime")
    if isinstance(expires, datetime):
        at = 1_000 * expires.timestamp()
    else:
        at = now + 1_000 * expires.total_seconds()
    days = LONG_TOKEN_DAYS if is_stored else TOKEN_DAYS
    need(api_key, "A feedback token needs an api_key")
    need(record, "The mask left out the record")
    need(now < at <= now + days * _day, f"expires must be within {days} days")
    need(
        names and not isinstance(names, str)
        and all(isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]{0,63}", name, re.ASCII) for name in names),
        "names must be names of feedback",
    )
    need(
        re.fullmatch(r"[^\x00-\x1f\x7f-\x9f]{0,128}", author),
        "author must be at most 128 characters without control characters",
    )
    token = sign_token(api_key, record or "", list(names), author, math.ceil(at / 1_000))
    need(len(token) <= _longest, "names and author are too long for a token")
    return token


def sign_token(api_key: str, record: str, names: Sequence[str], author: str, expires: int) -> str:
    """The token of a grant, which ends at a time in Unix seconds."""
    key_hash = hashlib.sha256(api_key.encode()).hexdigest()
    payload = _base64(to_json([key_hash[:16], record, list(names), author, expires]).encode())
    # HKDF (RFC 5869), with no salt and one block.
    extracted = hmac.digest(b"\0" * 32, key_hash.encode(), "sha256")
    key = hmac.digest(extracted, b"feedback token\x01", "sha256")
    return f"plf_{payload}.{_base64(hmac.digest(key, payload.encode(), 'sha256'))}"


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")

"""The options of a client: their defaults, and what is wrong with them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, Mapping, Optional, Protocol, Union

from .connection import HttpTransport, Transport
from .errors import invalid_argument

#: A record as the service takes it, such as `{"deployId": …, "sessionId": …, "status": 1, "content": {…}}`.
Record = Dict[str, Any]
#: Removes or replaces what must stay in the process: None leaves out the record.
Mask = Callable[[Record], Optional[Record]]
#: What stands for variables that need no value, by reference: `{"a@b": {"optional": {"note": "", "history": []}}}`.
PromptDefaults = Mapping[str, Mapping[str, Mapping[str, Any]]]


class SnapshotStore(Protocol):
    """Keeps the text of a snapshot. Its methods are called on a thread of the client."""

    def load(self) -> Optional[str]:
        """What was saved last, or nothing."""

    def save(self, text: str) -> object: ...


@dataclass(frozen=True)
class Options:
    """Times are in ms."""

    url: str
    api_key: str
    transport: Transport
    max_age: float
    max_stale: float
    watch: float
    snapshot: Union[str, SnapshotStore, None]
    read_timeout: float
    submit_timeout: float
    retries: float
    max_queued: float
    max_queued_bytes: float
    prompts: PromptDefaults
    mask: Optional[Mask]


_url_name, _key_name = "PROMPTLEDGER_URL", "PROMPTLEDGER_API_KEY"


def read_options(
    *,
    url: Optional[str],
    api_key: Optional[str],
    transport: Optional[Transport],
    proxy: Optional[str],
    ca_bundle: Union[str, os.PathLike[str], None],
    max_age_seconds: float,
    max_stale_seconds: float,
    watch_seconds: Optional[float],
    snapshot: Union[str, os.PathLike[str], SnapshotStore, None],
    read_timeout_seconds: float,
    submit_timeout_seconds: float,
    retries: int,
    max_queued: int,
    max_queued_bytes: int,
    prompts: Optional[PromptDefaults],
    mask: Optional[Mask],
) -> Options:
    """The options of a client, checked. Raises the first fault."""
    where = url or os.environ.get(_url_name) or ("http://promptledger.invalid" if transport else "")
    key = os.environ.get(_key_name) if api_key is None else api_key
    # Errors show the url, and a request may have no credentials in its own.
    _need(re.fullmatch(r"https?://[^?#@\s]+", where), "url (http(s), no credentials or query)", _url_name)
    # A key that was read from a file may end with a line break. The error of an invalid header would show the key.
    key = key.strip() if key is not None else None
    _need(api_key == "" or re.fullmatch(r"[!-~]+", key or ""), "api_key (no spaces)", _key_name)

    def at_least_0(name: str, value: Optional[float]) -> float:
        number = 0 if value is None else value
        if not isinstance(number, (int, float)) or not number >= 0:
            raise invalid_argument(f"{name} must be at least 0")
        return number

    base = re.sub(r"/*(/v1)?/*\Z", "", where)
    return Options(
        url=base,
        api_key=key or "",
        transport=transport or HttpTransport(base, proxy, None if ca_bundle is None else os.fspath(ca_bundle)),
        max_age=1_000 * at_least_0("max_age_seconds", max_age_seconds),
        max_stale=1_000 * at_least_0("max_stale_seconds", max_stale_seconds),
        watch=1_000 * at_least_0("watch_seconds", watch_seconds),
        snapshot=os.fspath(snapshot) if isinstance(snapshot, (str, os.PathLike)) else snapshot,
        read_timeout=1_000 * at_least_0("read_timeout_seconds", read_timeout_seconds),
        submit_timeout=1_000 * at_least_0("submit_timeout_seconds", submit_timeout_seconds),
        retries=at_least_0("retries", retries),
        max_queued=at_least_0("max_queued", max_queued),
        max_queued_bytes=at_least_0("max_queued_bytes", max_queued_bytes),
        prompts=prompts or {},
        mask=mask,
    )


def _need(is_good: object, what: str, name: str) -> None:
    if not is_good:
        raise invalid_argument(f"Give {what}, or set {name}")

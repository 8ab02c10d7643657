"""Records: what they are made of, their JSON, and the mask that they pass."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import uuid
from typing import Any, Dict, Mapping, Optional

from .errors import to_client_error
from .options import Mask, Record


def _default(value: Any) -> Any:
    """What is no JSON as JSON: models of pydantic, as the clients of providers give them, data classes, times and the like."""
    for name in ("model_dump", "to_dict"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method(mode="json") if name == "model_dump" else method()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset, range)):
        return list(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def _finite(value: Any) -> Any:
    """A copy in which None stands for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    if value is None or isinstance(value, (str, int)):
        return value
    return _finite(_default(value))


def to_json(value: object) -> str:
    """A value as JSON, compact. Raises if it cannot be, such as a list that contains itself."""

    def dump(value: object, is_ascii: bool = False) -> str:
        return json.dumps(value, ensure_ascii=is_ascii, allow_nan=False, separators=(",", ":"), default=_default)

    try:
        text = dump(value)
    except ValueError:
        # A list that contains itself raises RecursionError here.
        value = _finite(value)
        text = dump(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair, which JSON can only write as an escape.
        text = dump(value, True)
    return text


def content_of(input: object, output: object) -> Dict[str, str]:
    """The content of a record. The service wants at least one of the two, as a text."""

    def text_of(value: object) -> Optional[str]:
        return value if value is None or isinstance(value, str) else to_json(value)

    found = {name: text for name, text in (("input", text_of(input)), ("output", text_of(output))) if text is not None}
    return found or {"output": ""}


def new_uuid(now: int) -> str:
    """A new UUID of version 7, which begins with the time (Unix ms)."""
    time = f"{now:012x}"
    return f"{time[:8]}-{time[8:]}-7{str(uuid.uuid4())[15:]}"


def mask_record(record: Mapping[str, Any], mask: Optional[Mask], now: int) -> Optional[Record]:
    """What the mask makes of a record, with the key under which it is stored once. Raises if the mask fails."""
    key = record.get("idempotencyKey")
    keyed = {**record, "idempotencyKey": new_uuid(now) if key is None else key}
    try:
        masked = mask(keyed) if mask is not None else keyed
        return None if masked is None else {"idempotencyKey": keyed["idempotencyKey"], **masked}
    except Exception as error:
        raise to_client_error(error, "mask_failed") from error

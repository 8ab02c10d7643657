"""Stands in for the client of a prompt that was pickled, such as one in another process or in a cache."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import Any, Callable, Dict, Mapping, NoReturn, Sequence, Union

from .errors import invalid_argument

logger = logging.getLogger("promptledger")


class Clientless:
    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def queue_record(self, make: Callable[[], Mapping[str, Any]], target: object) -> None:
        logger.warning("promptledger: A record is lost: the prompt was pickled, and has no client any more")

    def queue_feedback(self, target: object, given: Dict[str, Any]) -> None:
        logger.warning("promptledger: Feedback is lost: the prompt was pickled, and has no client any more")

    def feedback_token(
        self, target: object, names: Sequence[str], expires: Union[timedelta, datetime], author: str
    ) -> NoReturn:
        raise invalid_argument("The prompt was pickled, and has no client any more")

"""Sends requests: one attempt with a timeout, retries with back-off, and what a refusal means."""

from __future__ import annotations

import json
import math
import random
import re
import socket
from datetime import datetime, timezone
from typing import (
    Any,
    Awaitable,
    Callable,
    Dict,
    List,
    Mapping,
    NamedTuple,
    NoReturn,
    Optional,
    Pattern,
    Set,
    Tuple,
    Type,
    TypeVar,
)

from .connection import Request, Response
from .errors import (
    UNEXPECTED,
    AuthenticationError,
    InvalidRequestError,
    NotFoundError,
    PromptLedgerError,
    QuotaExceededError,
    UnavailableError,
    too_slow,
    unavailable,
)
from .limits import (
    ACTIVE_TIME,
    FIRST_BACK_OFF,
    IDLE_TIME,
    LATEST_TIME,
    LONGEST_RETRY_AFTER,
    LONGEST_WAIT,
    REFUSED_FOR,
)
from .loop import Loop
from .options import Options

T = TypeVar("T")
Headers = Mapping[str, str]


class Reply(NamedTuple):
    """The JSON of a response, None for 304; its headers; when it was asked for, in Unix ms."""

    body: Any
    headers: Headers
    sent_at: int


#: What a refusal means, by its status, its text, and its code or the reset of the quota. A gateway's body may have an `error`
#: too, but not these texts. Only they are believed to be the service's own word on a key, a deployment, a quota or a record. A
#: batch whose results have the right form is the service's: `#` marks them.
_meanings: List[Tuple[Pattern[str], Type[PromptLedgerError], str]] = [
    (re.compile(pattern), kind, code)
    for pattern, kind, code in (
        (
            r"#4(0[049]|13|22) (?!Deploy not )|4(00|13|22) (Field .+ must be |Missing (required field|or invalid deployId) "
            r"|Re(quest body|cord) must be (at most|nested) |Idempotency-Key)",
            InvalidRequestError,
            "invalid_request",
        ),
        (
            r"#?40[13] (Missing or invalid authorization|(No|Invalid) API key|This key may not) ",
            AuthenticationError,
            "unauthorized",
        ),
        (r"#?404 Deploy not found or not accessible ", NotFoundError, "deployment_not_found"),
        (r"#?429 Rate limit exceeded (quota_exhausted|[0-9]{10})\Z", QuotaExceededError, "quota_exhausted"),
        (r"#?(408|50[0234]) |(?s:.)* too_much_feedback\Z", UnavailableError, "unavailable"),
        (r"", UnavailableError, UNEXPECTED),
    )
]


def member(value: object, name: str) -> Any:
    """A member of a JSON object; None of anything else."""
    return value.get(name) if isinstance(value, dict) else None


def pause_after(error: Optional[PromptLedgerError], failures: int, most: float) -> float:
    """How long to leave the service alone after so many failures in a row (from 1), in ms."""
    if error is not None and not error.retryable:
        return REFUSED_FOR
    asked = 1_000 * (error.retry_after_seconds or 0) if error is not None else 0
    back_off: float = FIRST_BACK_OFF << min(failures - 1, 20)
    return max(min(asked, LONGEST_RETRY_AFTER), min(most, back_off) * (0.5 + random.random() / 2))


class Sender:
    """What sends the requests of a client."""

    def __init__(self, options: Options, loop: Loop) -> None:
        self._url, self._api_key, self._transport = options.url, options.api_key, options.transport
        self._loop = loop
        self._open: Set[Request] = set()
        self._is_closed = False
        self._active_until: float = 0

    async def send(
        self,
        path: str,
        timeout: float,
        is_wanted: Callable[[Any], object],
        headers: Optional[Dict[str, str]] = None,
        body: Optional[bytes] = None,
    ) -> Reply:
        """One attempt, which takes `timeout` ms at most, and less once the application is idle. With a body, which is JSON, it
        is a POST. Raises a PromptLedgerError if the response is no success, or not what is wanted. 304 is wanted if it has the
        tag that `If-None-Match` named."""
        loop, transport = self._loop, self._transport
        if self._is_closed:
            raise loop.closed()
        sent_at = loop.now()
        all_headers = {"Content-Type": "application/json", **(headers or {})}
        if self._api_key:
            all_headers["Authorization"] = f"Bearer {self._api_key}"
        method = "GET" if body is None else "POST"
        request = Request(method, self._url + path, all_headers, body, min(timeout / 1_000, 86_400.0))

        def exchange() -> Tuple[Response, Any]:
            response = transport(request)
            return response, _read_json(response.body)

        self._open.add(request)
        answer = loop.run(exchange)
        try:
            left, wait = timeout, min(timeout, IDLE_TIME)
            while not await loop.within(answer, wait):
                left -= wait
                wait = min(left, self._active_until - loop.now())
                if wait <= 0:
                    raise too_slow(timeout - left)
            try:
                response, parsed = answer.result()
            except BaseException as error:
                if self._is_closed:
                    raise loop.closed() from None
                if isinstance(error, (TimeoutError, socket.timeout)):
                    raise too_slow(timeout) from error
                # A status line that is none is quoted as a whole.
                said = str(error)[:200] or type(error).__name__
                raise unavailable("unreachable", f"Cannot reach {self._url}: {said}", error) from error
        finally:
            self._open.discard(request)
            if not answer.is_settled:
                # What has not been read is given up.
                request.abandon()
        status = response.status
        # A 304 of the service itself has the tag that was sent, which a proxy may have weakened before.
        if status == 304:
            tag = response.headers.get("etag")
            is_good: object = tag and (headers or {}).get("If-None-Match", "").endswith(tag)
        else:
            is_good = 200 <= status < 300 and is_wanted(parsed)
        if is_good:
            return Reply(None if status == 304 else parsed, response.headers, sent_at)
        raise self.error_of(status, response.headers, parsed)

    def error_of(self, status: int, headers: Headers, body: Any, mark: str = "") -> PromptLedgerError:
        """What a refusal means, be it a response or, marked by #, a result of a batch."""
        error, code, details = member(body, "error"), member(body, "code"), member(body, "details")
        text = error if isinstance(error, str) else ""
        reset = member(details, "resetTime")
        said = f"{mark}{status} {text} {code if reset is None else reset}"
        kind, standard = next((kind, standard) for pattern, kind, standard in _meanings if pattern.match(said))
        # What comes from something in between may be gone the next time.
        retryable = kind is UnavailableError
        is_token = kind is AuthenticationError and self._api_key.startswith("plm_")
        hint = ": this is a management token" if is_token else ""
        message = text + hint if text and standard != UNEXPECTED else (
            f"Unexpected response {status} from {self._url}: {text or 'is it promptledger?'}"
        )
        found = kind(
            str(code) if code and not retryable else standard,
            message,
            status=status,
            request_id=headers.get("x-request-id"),
            retryable=retryable,
            retry_after_seconds=_number(headers.get("retry-after")) or None,
        )
        if isinstance(found, QuotaExceededError):
            # A result of a batch has no details, but the batch has the headers.
            def fact(name: str) -> int:
                header = {"limit": "limit", "used": "used", "resetTime": "reset"}[name]
                value = member(details, name)
                return int(_number(headers.get(f"x-ratelimit-{header}") if value is None else str(value)))

            url = member(details, "upgradeUrl")
            found.limit, found.used = fact("limit"), fact("used")
            found.reset_at = datetime.fromtimestamp(max(0, min(fact("resetTime"), LATEST_TIME)), timezone.utc)
            found.upgrade_url = url if isinstance(url, str) else None
        return found

    def touch(self, ms: float = ACTIVE_TIME) -> None:
        """The application asks for something, and may wait `ms` for it."""
        self._active_until = max(self._active_until, self._loop.now() + ms)

    async def retry(self, attempt: Callable[[], Awaitable[T]], retries: float, until: float = math.inf) -> T:
        """Attempts until one succeeds, fails for good, or there are no more. None begins after `until`, in Unix ms."""
        failures = 0
        while True:
            try:
                return await attempt()
            except PromptLedgerError as error:
                failures += 1
                pause = pause_after(error, failures, LONGEST_WAIT)
                asked = 1_000 * (error.retry_after_seconds or 0)
                is_last = failures > retries or asked > LONGEST_RETRY_AFTER or self._loop.now() + pause >= until
                if not error.retryable or is_last:
                    raise
            await self._loop.sleep(pause)

    def close(self) -> None:
        """Ends what is under way, and refuses all that is sent later."""
        self._is_closed = True
        for request in list(self._open):
            request.abandon()

    def reset(self) -> None:
        """A forked process has nothing under way."""
        self._open.clear()


def _number(text: Optional[str]) -> float:
    """A number of a header; 0 if it is none, such as a date."""
    try:
        number = float(text or 0)
    except ValueError:
        return 0
    return number if math.isfinite(number) else 0


def _no_json(text: str) -> NoReturn:
    raise ValueError(text)


def _read_json(body: bytes) -> Any:
    """The JSON of a body; None if it is none."""
    try:
        return json.loads(body.decode("utf-8-sig", "replace"), parse_constant=_no_json)
    except (ValueError, RecursionError):
        return None

"""Every error of the client. Programs tell them apart by class or by `code`, which stays the same from release to release."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Dict, Optional, Tuple, Type


class PromptLedgerError(Exception):
    """Any error of the client. Its text is written for people."""

    #: The reason, for programs: `deployment_not_found`, `quota_exhausted`, `timeout` and so on.
    code: str
    #: The status of the response; None if there was none.
    status: Optional[int]
    #: The id under which the service has logged the request; None if there was no response.
    request_id: Optional[str]
    #: Whether the same request may succeed if it is sent again.
    retryable: bool
    #: How long the service asked to wait before that.
    retry_after_seconds: Optional[float]

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        retryable: bool = False,
        retry_after_seconds: Optional[float] = None,
        cause: Optional[BaseException] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.__cause__ = cause

    def __reduce__(self) -> Tuple[Any, ...]:
        # `Exception` would be made again of its message alone. Tasks of Celery pickle what they raise.
        return _rebuild, (type(self), self.args, self.__dict__)

    def again(self) -> PromptLedgerError:
        """A copy to be raised: an error that several callers raise would collect the frames of all of them."""
        copy = _rebuild(type(self), self.args, self.__dict__)
        copy.__cause__ = self.__cause__
        return copy


def _rebuild(kind: Type[PromptLedgerError], args: Tuple[Any, ...], facts: Dict[str, Any]) -> PromptLedgerError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class AuthenticationError(PromptLedgerError):
    """The key is missing, invalid, revoked or expired (401), or is not for this kind of request (403)."""


class InvalidRequestError(PromptLedgerError):
    """The service refused what was sent: 400, 413 or 422. The message names the field."""


class NotFoundError(PromptLedgerError):
    """The deployment is unknown, inactive or archived, or not for this key (404)."""


class QuotaExceededError(PromptLedgerError):
    """The month's quota of the workspace is used (429)."""

    #: Requests that the workspace has a month.
    limit: int
    #: Requests that were accepted this month.
    used: int
    #: When the next month begins.
    reset_at: datetime
    #: Where a higher limit can be had, if the operator has said.
    upgrade_url: Optional[str]


class UnavailableError(PromptLedgerError):
    """The service cannot be reached, is too slow or overloaded, or what answers is not promptledger."""


class MissingVariables(PromptLedgerError):
    """`fill` has no value for some variables."""

    #: The variables, in order of their first appearance.
    names: Tuple[str, ...]

    def __init__(self, names: Tuple[str, ...]) -> None:
        super().__init__("missing_variables", f"Variables without a value: {', '.join(names)}")
        self.names = names


#: The code of a response that is not the service's own.
UNEXPECTED = "unexpected_response"


def invalid_argument(message: str) -> PromptLedgerError:
    """The error of an option or an argument that cannot be used."""
    return PromptLedgerError("invalid_argument", message)


def to_client_error(cause: BaseException, code: str = "invalid_record") -> PromptLedgerError:
    """Any exception as an error of the client. Most come of records."""
    if isinstance(cause, PromptLedgerError):
        return cause
    return PromptLedgerError(code, f"{type(cause).__name__}: {cause}", cause=cause)


def unavailable(code: str, message: str, cause: Optional[BaseException] = None) -> UnavailableError:
    return UnavailableError(code, message, retryable=True, cause=cause)


def too_slow(ms: float) -> UnavailableError:
    """There was no response in time."""
    return unavailable("timeout", f"No response within {ms / 1000:g} s")


def closed(message: str = "The client is closed") -> PromptLedgerError:
    """The error of what is asked of a closed client, or was left to it."""
    return PromptLedgerError("closed", message)

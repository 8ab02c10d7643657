"""A prompt as the application gets it: its content, its variables filled in, and the record of a call that is made with it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Callable, Dict, List, Literal, Mapping, NamedTuple, Optional, Protocol, Sequence, Union

from .fill import Message, MessageLists, Values, copy_json, fill_messages
from .options import Record
from .record import content_of, new_uuid
from .transport import member

#: What an application has of its own, for when there is nothing else: `{"messages": […]}`, and if it likes `llmConfig`, `title`,
#: `description` and `version`, as the service serves them.
Fallback = Mapping[str, Any]


#: Where a prompt comes from.
PromptSource = Literal["server", "cache", "stale", "snapshot", "fallback"]


@dataclass
class Target:
    """A record, as feedback is about it."""

    #: What stays the same when its id becomes known.
    about: str
    #: Its idempotency key, or what the application names it by; None if the mask has left it out.
    record: Optional[str]
    #: Its id, once the service has stored it.
    id: Optional[str] = None


class Calls(Protocol):
    """What the calls of all prompts do."""

    def now(self) -> int: ...

    def queue_record(self, make: Callable[[], Mapping[str, Any]], target: Target) -> None:
        """Queues a record, which it makes itself, as that may fail. Never raises."""

    def queue_feedback(self, target: Target, given: Dict[str, Any]) -> None: ...

    def feedback_token(
        self, target: Target, names: Sequence[str], expires: Union[timedelta, datetime], author: str
    ) -> str: ...


class Content(NamedTuple):
    """What a prompt says, wherever it comes from. It is never changed."""

    deploy_id: str
    reference: str
    version: int
    title: str
    description: str
    messages: Sequence[Mapping[str, Any]]
    llm_config: Mapping[str, Any]
    #: The id of the rollout that chose it.
    rollout: Optional[str] = None


def is_prompt(value: object) -> bool:
    """Whether a value is a prompt as the service serves it, with both versions of a rollout."""
    rollout = member(value, "rollout")
    return _is_version(value) and (not rollout or _is_version(member(rollout, "prompt")))


def _is_version(value: object) -> bool:
    messages, version = member(value, "messages"), member(member(value, "deploy"), "currentVersion")
    return (
        isinstance(messages, list)
        and all(member(message, "role") and isinstance(member(message, "content"), (str, list)) for message in messages)
        and isinstance(version, int)
        and version >= 0
    )


class ModelCall:
    """A call of a model that is under way."""

    def __init__(
        self, calls: Calls, content: Content, session_id: Optional[str], additional_properties: Optional[Mapping[str, Any]]
    ) -> None:
        self._calls = calls
        self._content = content
        self._additional = additional_properties or {}
        self._start = calls.now()
        key = new_uuid(self._start)
        self._target = Target(key, key)
        # A list has one atomic step for that, and needs no lock, which could not be copied.
        self._undone: List[None] = [None]
        self.session_id = str(uuid.uuid4()) if session_id is None else session_id

    @property
    def record(self) -> Optional[str]:
        """What names the record of the call: its id once the service has stored it, until then its idempotency key. None if the
        mask has left it out."""
        return self._target.id or self._target.record

    def done(
        self,
        *,
        status: int,
        input: object = None,
        output: object = None,
        usage: object = None,
        model: Optional[str] = None,
        provider: Optional[str] = None,
        additional_properties: Optional[Mapping[str, Any]] = None,
    ) -> None:
        """Queues the record of the call, with its version, start and latency. Only the first time counts. Never raises.

        `status` is an integer whose meaning you define. What is not a text, such as messages, is recorded as JSON. `usage` is
        what the model's provider reports. Without `model` and `provider`, those of the prompt's `llm_config` count."""
        try:
            self._undone.pop()
        except IndexError:
            return
        end = self._calls.now()

        def make() -> Record:
            additional = {**self._additional, **({} if usage is None else {"token_usage": usage})}
            record: Record = {
                "deployId": self._content.deploy_id,
                "idempotencyKey": self._target.record,
                "sessionId": self.session_id,
                "status": status,
                "content": content_of(input, output),
                # The clock may have been set back.
                "latency": max(0, end - self._start),
                "startAt": self._start,
                "endAt": end,
                "additional_properties": {**additional, **(additional_properties or {})},
            }
            members = {
                "model": model,
                "provider": provider,
                "promptVersion": self._content.version or None,
                "rollout": self._content.rollout,
            }
            return {**record, **{name: value for name, value in members.items() if value is not None}}

        self._calls.queue_record(make, self._target)

    def feedback(
        self,
        *,
        name: str,
        value: Union[bool, float, str, None],
        comment: Optional[str] = None,
        author: Optional[str] = None,
        source: Optional[str] = None,
    ) -> None:
        """Queues feedback on the record, which may come later. A `value` of None withdraws it. Nothing is sent if the mask has
        left out the record. Never raises."""
        if self._target.record is not None:
            given = {"name": name, "value": value, "comment": comment, "author": author, "source": source}
            self._calls.queue_feedback(self._target, given)

    def feedback_token(
        self, *, names: Sequence[str], expires: Union[timedelta, datetime], author: str = ""
    ) -> str:
        """Makes a token with which a page may give feedback on the record. Asks nothing of the service. It expires within 2 days,
        and within 30 once the record is known to be stored. Raises a PromptLedgerError."""
        return self._calls.feedback_token(self._target, names, expires, author)


@dataclass(frozen=True)
class Prompt:
    """The active prompt of a deployment. What its properties give is a copy: changes reach nobody else. Copies share its client.
    Pickled, it leaves the client behind: then its calls are not recorded."""

    source: PromptSource
    _content: Content = field(repr=False)
    _calls: Calls = field(repr=False, compare=False)
    _defaults: Optional[Mapping[str, Any]] = field(repr=False, default=None)
    _session_id: Optional[str] = field(repr=False, default=None)

    @property
    def deploy_id(self) -> str:
        """The id of the deployment; of a fallback, what was asked for."""
        return self._content.deploy_id

    @property
    def reference(self) -> str:
        """What was asked for: the reference of the deployment, or its id."""
        return self._content.reference

    @property
    def version(self) -> int:
        """The version of the prompt; 0 of a fallback that names none."""
        return self._content.version

    @property
    def rollout(self) -> Optional[str]:
        """The id of the rollout in progress that chose the version. Records have it."""
        return self._content.rollout

    @property
    def title(self) -> str:
        return self._content.title

    @property
    def description(self) -> str:
        return self._content.description

    @property
    def messages(self) -> List[Message]:
        copy: List[Message] = copy_json(self._content.messages)
        return copy

    @property
    def llm_config(self) -> Dict[str, Any]:
        copy: Dict[str, Any] = copy_json(self._content.llm_config)
        return copy

    def fill(
        self, values: Optional[Values] = None, lists: Optional[MessageLists] = None, *, missing: str = "raise"
    ) -> List[Message]:
        """The messages with their `{{variables}}` filled in. `lists` has messages to put in the place of a message whose content
        is one variable and nothing else, such as `{{history}}`. Raises MissingVariables if a variable has no value, unless
        `missing` is `keep` or `empty`."""
        given, given_lists = dict(values or {}), dict(lists or {})
        if self._defaults and missing != "keep":
            for name, value in self._defaults.items():
                if given.get(name) is None and given_lists.get(name) is None:
                    if isinstance(value, str):
                        given[name] = value
                    else:
                        given_lists[name] = value
        return fill_messages(self._content.messages, given, given_lists, missing)

    def call(
        self, *, session_id: Optional[str] = None, additional_properties: Optional[Mapping[str, Any]] = None
    ) -> ModelCall:
        """Starts the clock for a call of a model with this prompt. `session_id` is that of `prompt()`, or a random UUID."""
        session_id = self._session_id if session_id is None else session_id
        return ModelCall(self._calls, self._content, session_id, additional_properties)

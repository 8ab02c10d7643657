"""Fills in the variables of a prompt's messages, by the same rules as the service."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .errors import MissingVariables, invalid_argument

#: A message of a prompt: a role, a content, and further members.
Message = Dict[str, Any]
#: Values of variables by their names: texts, numbers and booleans. One that is None counts as missing. To type checkers, a
#: `TypedDict` of `promptledger types` is a mapping to objects.
Values = Mapping[str, object]
#: Messages to put in the place of a message whose content is one variable and nothing else, by the variable's name.
MessageLists = Mapping[str, Sequence[Mapping[str, Any]]]

# White space as JavaScript has it, whose rules the service follows. `\w` is letters and digits of any script, and `_`.
_space = r"[\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*"
_placeholder = re.compile(rf"\{{\{{{_space}(?:([\w.$-]+)|\"(\{{\{{|\}}\}})\"){_space}\}}\}}")
_sole = re.compile(rf"{_space}\{{\{{{_space}([\w.$-]+){_space}\}}\}}{_space}")


def sole_variable(content: object) -> Optional[str]:
    """The name in a text that is nothing but one placeholder, and white space around it."""
    found = _sole.fullmatch(content) if isinstance(content, str) else None
    return found[1] if found else None


def copy_json(value: Any, text: Callable[[str], str] = str) -> Any:
    """A copy of JSON, whose texts but keys pass a function."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {name: copy_json(inner, text) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [copy_json(inner, text) for inner in value]
    return value


def _text_of(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A member of an enum is a text with another name. What is no Unicode is replaced.
        return str.__str__(value).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return repr(value)
    # A careless value would put its representation before the model.
    raise invalid_argument(f"Variable {name} must be a text")


def fill_messages(
    messages: Sequence[Mapping[str, Any]],
    values: Optional[Values] = None,
    lists: Optional[MessageLists] = None,
    missing: str = "raise",
) -> List[Message]:
    """Fills in the `{{variables}}` in all texts of the messages but keys. Nothing in a value is filled in again. `{{"{{"}}`
    becomes `{{`, unless `missing` is `keep`. Returns new messages. Raises MissingVariables if a variable has no value, unless `missing` is `keep` or `empty`."""
    if missing not in ("raise", "keep", "empty"):
        raise invalid_argument("missing must be raise, keep or empty")
    given, given_lists = values or {}, lists or {}
    names: Dict[str, None] = {}

    def value_of(found: re.Match[str]) -> str:
        name: Optional[str] = found[1]
        if name is None:
            return found[0] if missing == "keep" else found[2]
        value = given.get(name)
        if value is None:
            if missing == "empty":
                return ""
            names[name] = None
            return found[0]
        return _text_of(name, value)

    filled: List[Message] = []
    for message in messages:
        name = sole_variable(message.get("content"))
        listed = given_lists.get(name) if name is not None else None
        if listed is not None:
            filled.extend(dict(inner) for inner in listed)
        else:
            filled.append(copy_json(message, lambda text: _placeholder.sub(value_of, text)))
    if names and missing != "keep":
        raise MissingVariables(tuple(names))
    return filled

"""The proxy that requests pass: what an option names, or the environment as curl and requests read it."""

from __future__ import annotations

import base64
import ipaddress
import os
import re
from typing import Mapping, NamedTuple, Optional, Union
from urllib.parse import unquote, urlsplit

from .errors import PromptLedgerError, invalid_argument

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


class Proxy(NamedTuple):
    host: str
    port: int
    #: Headers for the proxy alone.
    headers: Mapping[str, str]


def find_proxy(url: str, option: Optional[str], env: Mapping[str, str] = os.environ) -> Optional[Proxy]:
    """The proxy for the requests to a service; None if there is none. Raises a PromptLedgerError if it cannot be used."""
    if option is not None:
        return _read(option, "proxy") if option else None
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY"):
        # The server of a CGI script takes it from a header of the request: https://httpoxy.org
        if name in env and not (name == "HTTP_PROXY" and "REQUEST_METHOD" in env):
            port = parts.port or (443 if scheme == "https" else 80)
            exceptions = env.get("no_proxy", env.get("NO_PROXY", ""))
            if not env[name] or is_excepted(parts.hostname or "", port, exceptions):
                return None
            return _read(env[name], name)
    return None


def _read(text: str, name: str) -> Proxy:
    # It may have a password, which no error shows.
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        raise _unusable(name) from None
    if parts.scheme.lower() != "http" or not host or re.search(r"\s", text):
        raise _unusable(name)
    headers = {}
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    return Proxy(host, port, headers)


def _unusable(name: str) -> PromptLedgerError:
    return invalid_argument(f"{name} must be http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")


def is_excepted(host: str, port: int, exceptions: str) -> bool:
    """True if a list such as `localhost, .example.com, 10.0.0.0/8, [::1]:8080` has a host."""
    host = host.rstrip(".")
    own = _network(host)
    for entry in re.split(r"[\s,]+", exceptions.lower()):
        network = _network(entry)
        if network is None:
            entry, _, own_port = entry.rpartition(":") if re.search(r":[0-9]+\Z", entry) else (entry, "", "")
            if own_port and int(own_port) != port:
                continue
            network = _network(entry)
        if network is not None:
            # A network has those of its own version alone.
            if own is not None and own.version == network.version and own.network_address in network:
                return True
            continue
        # `example.com`, `.example.com` and `*.example.com` stand for the domain and all below it.
        name = entry.lstrip("*").strip(".")
        if entry == "*" or name and (host == name or host.endswith(f".{name}")):
            return True
    return False


def _network(text: str) -> Optional[Network]:
    """An address, or a range of them."""
    try:
        return ipaddress.ip_network(re.sub(r"\A\[(.*)\]\Z", r"\1", text), strict=False)
    except ValueError:
        return None

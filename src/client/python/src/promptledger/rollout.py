"""Which version of a rollout a key gets: the same in every client and in the service."""

from __future__ import annotations

import hashlib


def gets_candidate(deploy_id: str, salt: str, percent: float, key: str) -> bool:
    """Whether the first 48 bits of SHA-256 over the UTF-8 of `DEPLOYMENT.SALT.KEY` are less than 2^48 times the share. So a
    greater share keeps those that have the candidate."""
    # Half a surrogate pair counts as U+FFFD, as in other languages.
    text = f"{deploy_id}.{salt}.{key}".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    bucket = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
    # Percents in tenths are no exact numbers.
    return bucket * 1_000 < round(percent * 10) << 48

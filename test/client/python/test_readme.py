"""The examples of the documents run as they stand, against a small service."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
import tempfile
import types
import unittest
from typing import Any, Dict, List

from server import Server
from stage import root

documents = ("README.md", "src/client/python/README.md")


def blocks(path: str) -> List[str]:
    return re.findall(r"^```python\n(.*?)^```", (root / path).read_text("utf-8"), re.M | re.S)


class FakeHttpx:
    """As much of httpx as the example needs, over the transport of the client itself."""

    class Client:
        def request(self, method: str, url: str, headers: Dict[str, str], content: Any, timeout: float) -> Any:
            from promptledger.connection import HttpTransport, Request

            reply = HttpTransport(url)(Request(method, url, headers, content, timeout))
            return types.SimpleNamespace(status_code=reply.status, headers=reply.headers, content=reply.body)


class Documents(unittest.TestCase):
    def test_examples(self) -> None:
        if importlib.util.find_spec("httpx") is None:
            module = types.ModuleType("httpx")
            module.Client = FakeHttpx.Client  # type: ignore[attr-defined]
            sys.modules["httpx"] = module
        server = Server()
        self.addCleanup(server.close)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(PROMPTLEDGER_URL=server.url, PROMPTLEDGER_API_KEY="pl_key")
        for path in documents:
            found = blocks(path)
            self.assertGreater(len(found), 0, path)
            for block in found:
                with self.subTest(path, block=block), tempfile.TemporaryDirectory() as folder:
                    code = block.replace("/var/lib/app", folder).replace("http://127.0.0.1:8787", server.url).replace("…", "key")
                    names: Dict[str, Any] = {"call_model": lambda *_: "It arrives tomorrow."}
                    exec(compile(code, path, "exec"), names)
                    if "ledger" in names:
                        names["ledger"].close()
        self.assertEqual(sum(server.records.values()), 3)


if __name__ == "__main__":
    unittest.main()

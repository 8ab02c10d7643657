"""A short day of ten processes against the real service, or of three in a small form: threads, asyncio and servers that fork. The
service is killed and started again, replies are lost, versions are promoted, and a deployment is switched off for a while. Every
record and thumb is stored once, under the version it was made with, and no prompt is older than said."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, List

from day import History, Network, Service
from stage import is_full

# What the client's times, and the day, are divided by. With 1 it takes three minutes.
faster = float(os.environ.get("FASTER") or (4 if is_full else 20))
kinds = ["threads", "asyncio", "fork"] * 3 + ["threads"] if is_full else ["threads", "asyncio", "fork"]
look_every = 15.0 / faster
#: What the client warns of where nobody listens.
expected = tuple(f"promptledger: {text} " for text in ("Cannot reach", "Unexpected response", "No response", "Deploy not found"))
settling = 1.0  # s after which trouble is over
patience = 30.0  # s that a promotion and a read may take longer on a busy machine: test_virtual_day.py has the exact bounds


class Day(unittest.TestCase):
    maxDiff = None

    def test_a_day(self) -> None:
        seed = int(os.environ.get("SEED") or random.randrange(1_000_000))
        random.seed(seed)
        with tempfile.TemporaryDirectory() as folder:
            service = Service(folder)
            self.addCleanup(service.kill)
            network = Network(service, 0.02)
            self.addCleanup(network.close)
            self.run_day(service, network, seed)

    def run_day(self, service: Service, network: Network, seed: int) -> None:
        history = History()
        workspace = service.manage("POST", "/workspaces", {"name": "Day", "monthlyLimit": 10_000_000})["id"]
        key = service.manage("POST", f"/workspaces/{workspace}/keys", {"name": "app"})["key"]
        deployments: Dict[str, str] = {}

        def publish(index: int) -> None:
            reference = f"prompt-{index}@production"
            text = f"Version of {time.time_ns()}"
            body = {"name": f"prompt-{index}", "title": "A prompt", "deploy": "production", "llmConfig": {}}
            messages = [{"role": "system", "content": text}]
            made = service.manage("POST", f"/workspaces/{workspace}/publish", {**body, "messages": messages})
            deployments[reference] = made["deployment"]["id"]
            history.live.setdefault(reference, []).append((made["version"], time.time()))

        for index in range(5):
            publish(index)
        settings = {"PROMPTLEDGER_URL": network.url, "PROMPTLEDGER_API_KEY": key}
        program = str(Path(__file__).with_name("app.py"))
        # Pipes would fill up that nobody reads.
        with ExitStack() as stack, ThreadPoolExecutor(2 * len(kinds)) as readers:
            applications = [
                stack.enter_context(
                    subprocess.Popen(
                        [sys.executable, program, kind, str(faster)],
                        env={**os.environ, **settings},
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        text=True,
                    )
                )
                for kind in kinds
            ]
            outputs = [readers.submit(application.stdout.read) for application in applications if application.stdout]
            errors = [readers.submit(application.stderr.read) for application in applications if application.stderr]
            try:
                promotions = self.play(service, history, publish, deployments)
            finally:
                for application in applications:
                    assert application.stdin is not None
                    application.stdin.close()
            for application, error in zip(applications, errors):
                said = [line for line in error.result().splitlines() if not line.startswith(expected)]
                self.assertEqual((application.wait(), "\n".join(said)), (0, ""))
        lines = [json.loads(line) for output in outputs for line in output.result().splitlines()]
        records = service.records(workspace)
        self.judge(lines, records, history, deployments, network, seed, promotions)

    def play(
        self, service: Service, history: History, publish: Callable[[int], None], deployments: Dict[str, str]
    ) -> int:
        """What happens, and how many promotions that was."""
        promotions = 0

        def promote_for(length: float) -> None:
            nonlocal promotions
            end = time.monotonic() + length
            while time.monotonic() < end:
                publish(random.randrange(5))
                promotions += 1
                time.sleep(random.uniform(1, 4) / faster)

        def restart() -> None:
            trouble = time.time()
            service.kill()
            time.sleep(10 / faster)
            service.start()
            history.troubles.append((trouble, time.time()))

        def switch_off() -> None:
            trouble = time.time()
            path = f"/deployments/{deployments['prompt-4@production']}"
            service.manage("POST", f"{path}/deactivate", {})
            promote_for(look_every + settling)
            service.manage("POST", f"{path}/activate", {})
            history.troubles.append((trouble, time.time()))

        for trouble in (restart, switch_off, restart) if is_full else (restart, switch_off):
            promote_for(20 / faster)
            trouble()
            promote_for(look_every + settling)
        if is_full:
            promote_for(20 / faster)
        return promotions

    def judge(
        self,
        lines: List[Dict[str, Any]],
        records: List[Dict[str, str]],
        history: History,
        deployments: Dict[str, str],
        network: Network,
        seed: int,
        promotions: int,
    ) -> None:
        calls = {line["session"]: line for line in lines if "session" in line}
        closed = [line for line in lines if "closed" in line]
        failed = [line for line in lines if "failed" in line]
        offs = [line for line in failed if line["failed"] == "deployment_not_found"]
        thumbs = {session: call["thumb"] for session, call in calls.items() if call["thumb"] is not None}
        sums = [sum(line["closed"][nth] for line in closed) for nth in range(3)]
        calm = [
            history.lag(call["reference"], call["version"], call["at"])
            for call in calls.values()
            if call["version"] and history.is_calm(call["at"], look_every + settling)
        ]
        lag = max(calm, default=0.0)
        context = (
            f"SEED={seed}: {len(calls)} calls, {len(thumbs)} thumbs, {promotions} promotions, {len(offs)} refused while "
            f"switched off, {network.dropped} replies lost of {network.dropped + network.passed}, "
            f"{sum(line['reads'] for line in closed)} reads, {dict(Counter(call['source'] for call in calls.values()))}, "
            f"promotions served within {lag:.1f} s, the longest wait for a prompt {max(call['took'] for call in calls.values()):.2f} s"
        )
        print(context)
        processes = sum(3 if kind == "fork" else 1 for kind in kinds)
        self.assertEqual(len(closed), processes, context)
        self.assertEqual(sums, [len(calls) + len(thumbs), 0, 0], context)
        self.assertLessEqual(lag, look_every + patience, context)
        self.assertLessEqual(max(call["took"] for call in calls.values()), 3 + patience, context)
        self.assertGreater(network.dropped, 0, context)
        self.assertGreater(len(offs), 0, context)
        # Only what has no fallback, and was never read, is missed while the service is away.
        away = [line for line in failed if history.is_calm(line["at"], look_every + settling)]
        self.assertEqual(away, [], context)

        # Every record once, under the version and the deployment it was made with, and every thumb.
        self.assertEqual(len(records), len(calls), context)
        ids = {id: reference for reference, id in deployments.items()}
        for record in records:
            call = calls[record["sessionId"]]
            self.assertEqual(ids[record["deployId"]], call["reference"], context)
            if call["version"]:
                self.assertEqual(int(record["promptVersion"]), call["version"], context)
            thumb = thumbs.get(record["sessionId"])
            self.assertEqual(record["feedback.thumb"], "" if thumb is None else str(thumb).lower(), context)
        self.assertEqual(len({record["sessionId"] for record in records}), len(calls), context)


if __name__ == "__main__":
    unittest.main()

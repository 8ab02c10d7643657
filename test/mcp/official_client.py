"""A session by the official client for Python, which checks each result against the schema of its tool. It connects to the URL or
starts the command that it gets, calls tools one after the other, and prints their results as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def run(client: Client, calls: "list[list[Any]]") -> None:
    async with client:
        tools = (await client.list_tools()).tools
        results = []
        for name, arguments in calls:
            result = await client.call_tool(name, arguments)
            results.append({"isError": result.is_error, "output": result.structured_content})
        print(json.dumps({"tools": [tool.name for tool in tools], "results": results}))


async def main() -> None:
    settings = json.loads(sys.argv[1])
    if "command" in settings:
        server = StdioServerParameters(command=settings["command"], args=settings["args"], env=settings["env"], cwd=settings["cwd"])
        await run(Client(stdio_client(server), mode=settings["mode"]), settings["calls"])
    else:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {settings['token']}"}, timeout=120) as http:
            await run(Client(streamable_http_client(settings["url"], http_client=http), mode=settings["mode"]), settings["calls"])


asyncio.run(main())

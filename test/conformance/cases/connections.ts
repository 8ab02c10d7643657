// What needs a connection: methods and hosts that no Request can have, and one request after another.
import * as assert from "uvu/assert";
import { goodBody } from "../../helpers.ts";
import { isRefusal, usedOf } from "../answers.ts";
import { openConnection, send, serialize } from "../http-client.ts";
import type { HttpRequest } from "../http-client.ts";
import { bearer, read } from "../target.ts";
import type { Target } from "../target.ts";

export const connectionCases: [name: string, run: (target: Target, base: string) => Promise<void>][] = [
  ["TRACE and unknown methods are refused, and cost nothing", async (target, base) => {
    const before = usedOf(await read(target));
    for (const method of ["TRACE", "PROPFIND", "FOO", "get"]) {
      const request = { method, headers: [bearer(target.key)] };
      // Bun's own parser answers some of them, and hangs up on others.
      const status = await send(base, `/v1/prompts?deployId=${target.deployId}`, request)
        .then((answer) => answer.status, (error) => /closed the connection/.test(String(error)) ? "hung up" : error);
      assert.ok([400, 405, 501, "hung up"].includes(status), `${method}: ${status}`);
    }
    assert.is(usedOf(await read(target)), before + 1);
  }],
  ["a request with an invalid Host is 400", async (_, base) => {
    const connection = openConnection(base);
    connection.write("GET /v1/prompts HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n");
    isRefusal(await connection.readAnswer(), 400, "Request target or Host header must be valid");
    connection.close();
  }],
  [
    "a connection serves one request after another, even after refusals whose body is not read",
    async (target, base) => {
      const path = `/v1/diagnosis?deployId=${target.deployId}`;
      const body = JSON.stringify({ ...goodBody, content: { input: "x".repeat(100_000) } });
      const headers = [bearer(target.key)];
      const requests: [target: string, request: HttpRequest, status: number][] = [
        [path, { method: "POST", headers, body }, 201],
        [path, { method: "POST", headers: [bearer("wrong")], body }, 401],
        ["/nowhere", { method: "POST", headers: [], body, chunkSize: 1000 }, 404],
        [path, { method: "PUT", headers, body }, 405],
        [path, { method: "POST", headers, body: "{" }, 400],
        [path, { method: "POST", headers, body, chunkSize: 1000 }, 201],
      ];
      /** Whether one connection serves them all. */
      const servesAll = async () => {
        const connection = openConnection(base);
        for (const [path, request, status] of requests) {
          connection.write(serialize(base, path, request, "keep-alive"));
          const answer = await connection.readAnswer();
          assert.is(answer.status, status);
          if (answer.headers.get("connection") === "close") return false;
        }
        connection.close();
        return true;
      };
      // A body that could not be dropped within a second costs its connection, so a machine that stalls gets further tries.
      for (let tries = 1; !await servesAll(); tries++) assert.ok(tries < 5, "the connection was closed");
    },
  ],
];

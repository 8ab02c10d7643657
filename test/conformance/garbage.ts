// Generates bytes that may look like a request.
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { goodBody } from "../helpers.ts";
import type { Tenant } from "../helpers.ts";
import { text, toMessage } from "./corpus.ts";

const requestLines = fc.oneof(
  fc.constantFrom(
    ...["GET /v1/prompts HTTP/1.0", "GET /v1/prompts HTTP/2.0", "GET /v1/prompts HTTP/9.9", "GET /v1/prompts"],
    ...["FOO /v1/prompts HTTP/1.1", "get /v1/prompts HTTP/1.1", "GET  /v1/prompts  HTTP/1.1", "PRI * HTTP/2.0"],
    ...["OPTIONS * HTTP/1.1", "CONNECT ledger.test:80 HTTP/1.1", "TRACE /v1/prompts HTTP/1.1", "GET * HTTP/1.1"],
    ...["GET http:// HTTP/1.1", "GET http://[/ HTTP/1.1", "GET //[ HTTP/1.1", "GET ? HTTP/1.1", "GET v1 HTTP/1.1"],
    ...[
      "GET http://other.test/v1/prompts HTTP/1.1",
      "GET /v1/\x01 HTTP/1.1",
      "GET /v1/\xff HTTP/1.1",
      "\r\n\r\nGET / HTTP/1.1",
    ],
    `${"X".repeat(300)} / HTTP/1.1`,
    `GET /${"x".repeat(20_000)} HTTP/1.1`,
    `GET /${"x".repeat(100_000)} HTTP/1.1`,
  ),
  fc.tuple(fc.constantFrom("GET", "POST"), fc.string({ maxLength: 30 })).map(([method, target]) =>
    `${method} /v1/${target} HTTP/1.1`
  ),
);
const wrongHeaders = fc.oneof(
  fc.constantFrom(
    ...[
      "Content-Length: 5\r\nTransfer-Encoding: chunked",
      "Content-Length: 5\r\nContent-Length: 6",
      "Content-Length: -1",
    ],
    ...["Content-Length: +5", "Content-Length: 0x5", "Content-Length: 5, 5", "Content-Length: 99999999999999999999"],
    ...["Content-Length: ", "Content-Length: 5 5", "Transfer-Encoding: xchunked", "Transfer-Encoding: gzip, chunked"],
    ...["Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"],
    ...["Transfer-Encoding : chunked", "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: chunked, identity"],
    ...[
      "Host: a\r\nHost: b",
      "Host: [",
      "Host: a b",
      "Host: ",
      "Host: @",
      "Expect: nothing",
      "Upgrade: websocket\r\nConnection: upgrade",
    ],
    ...[
      ...["No colon", ": no name", "Sp ace: 1", "Obs: a\r\n fold", "Nul: a\0b", "Cr: a\rb", "Bare: lf\nX: 1"],
      ...["Bell: \x07", "é: 1"],
    ],
    ...[
      "Connection: close, keep-alive, te",
      "TE: trailers",
      "HTTP2-Settings: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings",
    ],
    `Large: ${"x".repeat(20_000)}`,
    `Large: ${"x".repeat(100_000)}`,
    Array.from({ length: 300 }, (_, index) => `X-${index}: ${index}`).join("\r\n"),
  ),
  text.map((text) => `X: ${text}`),
);
const wrongPayloads = fc.constantFrom(
  ...[
    ...["", "{}", "5\r\nhello\r\n0\r\n\r\n", "zz\r\n", "-1\r\n", "ffffffffffffffffff\r\nx", "5\r\nhel"],
    ...["5\r\nhello0\r\n\r\n"],
  ],
  ...[
    "5;\0\r\nhello\r\n0\r\n\r\n",
    "0\r\nX: y\0\r\n\r\n",
    "5\nhello\n0\n\n",
    "GET /v1/prompts HTTP/1.1\r\n\r\n",
    "\0".repeat(100),
  ],
);

/** Bytes that may look like a request. */
export const garbage = ({ key, deployId }: Tenant): fc.Arbitrary<Uint8Array> => {
  const sound = toMessage({
    method: "POST",
    target: `/v1/diagnosis?deployId=${deployId}`,
    headers: [`Authorization: Bearer ${key}`],
    body: JSON.stringify(goodBody),
  }).bytes;
  const made = fc.tuple(requestLines, fc.array(wrongHeaders, { maxLength: 2 }), fc.boolean(), wrongPayloads);
  return fc.oneof(
    {
      weight: 6,
      arbitrary: made.map(([line, headers, hasHost, payload]) => {
        const lines = [
          line,
          ...(hasHost ? ["Host: ledger.test"] : []),
          `Authorization: Bearer ${key}`,
          ...headers,
          "",
          "",
        ];
        return Buffer.from(lines.join("\r\n") + payload, "latin1");
      }),
    },
    {
      weight: 3,
      arbitrary: fc.array(fc.tuple(fc.nat({ max: sound.length - 1 }), fc.nat({ max: 255 }), fc.nat({ max: 2 })), {
        minLength: 1,
        maxLength: 4,
      }).map((changes) => changes.reduce((bytes, [at, byte, kind]) => change(bytes, at, byte, kind), sound)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 300 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        Buffer.concat([sound, sound, Buffer.from("garbage\r\n\r\n"), sound]),
        // The first bytes of TLS, SSH, SOCKS and HTTP/2.
        Buffer.from("16030100a5010000a10303", "hex"),
        Buffer.from("SSH-2.0-client\r\n"),
        Buffer.from([5, 1, 0]),
        Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      ),
    },
  );
};

/** Replaces a byte, removes it, or inserts one before it. */
const change = (bytes: Uint8Array, at: number, byte: number, kind: number): Uint8Array =>
  Buffer.concat(
    [bytes.subarray(0, at), kind === 1 ? [] : [byte], bytes.subarray(kind === 2 ? at : at + 1)].map((part) =>
      Buffer.from(part)
    ),
  );

// What a build does to fill a database: by its own command line and its own service, with everything that it has. A number is
// that of the migration since which builds have something.
import { words } from "../cli/places.ts";
import { session, shapes, tools } from "./shapes.ts";

/** What was printed, with each field of the type that is expected. */
type Data = Record<string, never>;

/** A request with an API key, but for one without `key`. The path may have a query. */
export type Asked = { method: string; path: string; headers: Record<string, string>; body: string };
export type Answered = { status: number; headers: Record<string, string>; text: string };

/** A build at work on its database. */
export type Build = {
  /** Whether it has what came with this migration. */
  has(migration: number): boolean;
  /** Sets its date, in days before that of its commit. */
  setDate(daysBefore: number): void;
  /** Runs a command that must succeed, and returns its JSON. */
  cli<T = Data>(args: string[], input?: unknown): Promise<T>;
  /** Serves until the work is done. */
  serve(work: (send: (asked: Asked) => Promise<Answered>) => Promise<void>): Promise<void>;
};

type Made = { id: string; key: string; token: string };

/** What the commands and requests after filling refer to. */
export type Filled = {
  workspaces: string[];
  prompts: string[];
  deployments: string[];
  keys: Record<"app" | "rotated" | "revoked" | "used", string>;
  /** Keys that may not do everything. */
  limited: string[];
  /** A deployment of the workspace whose quota is used up. */
  usedUp: string;
  records: string[];
  reviews: string[];
  webhooks: string[];
};

export const adminToken = "admin-token-of-at-least-32-characters";

export const ask = (
  key: string | undefined,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
): Asked => ({
  method: body === undefined ? "GET" : "POST",
  path,
  headers: {
    ...key === undefined ? {} : { Authorization: `Bearer ${key}` },
    ...body === undefined ? {} : { "Content-Type": "application/json" },
    ...more,
  },
  body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
});

/** Fills the database, and returns what is in it. */
export async function fill(build: Build): Promise<Filled> {
  const { cli, has, serve, setDate } = build;

  setDate(42);
  const acme = await cli<Made>(words`workspace create --name Acme --limit 1000 --upgrade-url https://example.com/more`);
  const other = await cli<Made>(["workspace", "create", "--name", "Größe 東京", "--limit", "3"]);
  const of = ["--workspace", acme.id],
    live = ["--deploy", "production"],
    named = (name: string) => has(5) ? ["--name", name] : [];
  const app = await cli<Made>([...words`key create --name app --expires 2099-01-01`, ...of]);
  const chat = await push(build, [...live, ...of, ...named("support/chat")]);
  const [support] = await cli<Made[]>(["deploy", "list", ...of]);
  const to = (deployId: string, path = "/v1/prompts") => `${path}?deployId=${deployId}`;
  const production = support!.id;
  await serve(async (send) => {
    await send(ask(app.key, to(production)));
    await send(ask(app.key, to(production), shapes[0]));
  });

  setDate(35);
  await serve(async (send) => {
    await send(ask(app.key, to(production)));
    for (const shape of shapes.slice(0, 3)) await send(ask(app.key, to(production, "/v1/diagnosis"), shape));
  });

  setDate(0);
  await cli(words`prune --older-than 40d`);
  const rotated = await cli<Made>([...words`key create --name worker`, ...of]);
  await cli(["key", "rotate", rotated.id, "--overlap", "300d"]);
  const revoked = await cli<Made>([...words`key create --name left`, ...of]);
  await cli(["key", "revoke", revoked.id]);
  const used = await cli<Made>(["key", "create", "--workspace", other.id]);
  const limited: string[] = [];
  if (has(10)) {
    for (const option of [["--read-only"], ["--submit-only"], ["--deploy", production]]) {
      limited.push((await cli<Made>(["key", "create", ...of, ...option])).key);
    }
  }
  if (has(11)) await makeTokens(build, of);

  const prompt = ["--prompt", chat];
  const note = ["--note", "Shorter, see “4711”", "--actor", "ann"];
  const second = {
    ...content,
    description: "",
    messages: [{ role: "system", content: "Be brief with {{name}}: {{question}}" }],
    llmConfig: {},
  };
  await cli([...words`prompt push - --deploy production`, ...of, ...prompt, ...note], second);
  const parts = [{ type: "text", text: "Look:" }, {
    type: "image_url",
    image_url: { url: "https://example.com/{{id}}.png" },
  }];
  const third = {
    ...content,
    title: "In parts",
    messages: [...content.messages, { role: "user", name: "ann", content: parts }],
  };
  await cli([...words`prompt push -`, ...of, ...prompt], third);
  const canary = await cli<Made>([...words`deploy create --name canary --version 1`, ...of, ...prompt]);
  await cli(["deploy", "promote", canary.id, "--version", "3", ...note]);
  await cli(["deploy", "rollback", canary.id]);
  await cli(["deploy", "promote", canary.id, "--version", "2"]);
  const off = await cli<Made>([...words`deploy create --name old`, ...of, ...prompt]);
  await cli(["deploy", "deactivate", off.id, ...note]);
  await cli(["deploy", "activate", off.id]);
  await cli(["deploy", "rename", off.id, "--name", "older"]);
  await cli(["deploy", "deactivate", off.id]);
  const foreign = await push(build, [...live, "--workspace", other.id, ...named("other/chat")]);
  const [usedUp] = await cli<Made[]>(["deploy", "list", "--workspace", other.id]);
  const prompts = [chat, foreign], deployments = [production, canary.id, off.id, usedUp!.id];
  if (has(6)) {
    const gone = await cli<Made>([...words`deploy create --name gone`, ...of, ...prompt]);
    await cli(["deploy", "archive", gone.id, ...note]);
    const retired = await push(build, [...of, "--name", "retired"], {
      ...second,
      title: "Retired",
      messages: tools,
    });
    await cli(["prompt", "archive", retired, ...note]);
    deployments.push(gone.id);
    prompts.push(retired);
  }
  if (has(8)) await cli(["workspace", "update", acme.id, ...words`--keep-records 400d --keep-calls 500d`]);
  if (has(12)) await cli(["deploy", "protect", production]);
  if (has(14)) await cli(["workspace", "update", acme.id, ...words`--status 1=answered --status 0=failed`]);
  if (has(16)) {
    await cli(
      words`price set --model gpt-4o --provider openai --input 2.5 --cached-input 1.25 --output 10 --from 2026-01-01`,
    );
  }
  if (has(23)) {
    const variables = { name: { type: "text", description: "Who asks", example: "Ann" } };
    await cli([...words`prompt push -`, ...of, ...prompt], { ...second, title: "Declared", variables });
  }
  const rollout = has(27)
    ? await cli<{ rollout: { id: string } }>([
      ...words`deploy rollout ${canary.id} --version 3 --percent 25.5`,
      ...has(28) ? ["--guard", "failures=+5%"] : [],
    ])
    : undefined;

  const records: string[] = [];
  const submit = async (send: (asked: Asked) => Promise<Answered>, asked: Asked) => {
    const { status, text } = await send(asked);
    if (status !== 201) throw new Error(`${status} ${text}`);
    records.push((JSON.parse(text) as Made).id);
  };
  await serve(async (send) => {
    await send(ask(app.key, to(production)));
    await send(ask(rotated.key, to(canary.id)));
    for (const shape of shapes) {
      const isTaken = has(27) && typeof shape === "object" && "rollout" in shape!;
      await submit(send, ask(app.key, to(production), isTaken ? { ...shape, rollout: undefined } : shape));
    }
    const keyed = session("order-4711", { input: "Again", output: "Once" });
    await submit(send, ask(app.key, to(canary.id), keyed, { "Idempotency-Key": "order-4711-1" }));
    if (has(5)) {
      await submit(send, ask(app.key, to(production), { ...keyed, promptVersion: 1 }));
      const batch = [{ ...keyed, deployId: canary.id, idempotencyKey: "order-4711-2" }, {
        ...keyed,
        deployId: "dep_x",
      }];
      await send(ask(app.key, "/v1/diagnoses", { records: batch }));
    }
    if (rollout !== undefined) {
      await submit(send, ask(app.key, to(canary.id), { ...keyed, promptVersion: 3, rollout: rollout.rollout.id }));
    }
    for (let calls = 0; calls < 4; calls++) await send(ask(used.key, to(usedUp!.id), calls === 0 ? keyed : undefined));
    if (has(24)) await giveFeedback(send, app.key, records);
    await send(ask(adminToken, "/admin/v1/workspaces", { name: "By HTTP" }));
  });
  await cli(["diagnosis", "delete", records.splice(3, 1)[0]!]);
  if (has(9)) {
    const gone = await cli<Made>(words`workspace create --name Gone --limit 5`);
    await cli(["workspace", "delete", gone.id, "--confirm", "Gone"]);
  }

  const reviews: string[] = [], webhooks: string[] = [];
  if (has(24)) {
    await cli(["feedback", "add", records[1]!, "thumb", "false", "--comment", "Too long", "--author", "ben"]);
    await cli([...words`feedback declare thumb --kind boolean`, ...of]);
  }
  if (has(25)) {
    const review = await cli<Made>([...words`review create Week --records 4 --name thumb --actor ann`, ...of]);
    const next = await cli<{ record: { recordId: string } }>(words`review next ${review.id} --actor ann`);
    await cli(words`review done ${review.id} ${next.record.recordId} --actor ann`);
    reviews.push(review.id);
  }
  if (has(30)) {
    const webhook = await cli<Made>([...words`webhook create --url https://example.com/hooks`, ...of]);
    await cli(["webhook", "test", webhook.id]);
    webhooks.push(webhook.id);
  }
  return {
    workspaces: [acme.id, other.id],
    prompts,
    deployments,
    keys: { app: app.key, rotated: rotated.key, revoked: revoked.key, used: used.key },
    limited,
    usedUp: usedUp!.id,
    records,
    reviews,
    webhooks,
  };
}

const content = {
  title: "Chat",
  description: "Answers “customers”",
  messages: [{ role: "system", content: "Greet {{name}}" }, { role: "user", content: "{{question}}" }],
  llmConfig: { provider: "openai", model: "gpt-4o", temperature: 0.5, nested: { a: [1, null, "x"] } },
};

/** Pushes the first version of a prompt, and returns the id of the prompt. */
async function push({ cli }: Build, options: string[], prompt: unknown = content): Promise<string> {
  const { promptId, id } = await cli<{ id: string; promptId?: string }>(["prompt", "push", "-", ...options], prompt);
  return promptId ?? id;
}

async function makeTokens({ cli }: Build, of: string[]): Promise<void> {
  const editor = await cli<Made>([...words`token create --name ann --role editor --expires 2099-01-01`, ...of]);
  await cli(words`token rotate ${editor.id} --overlap 300d`);
  const owner = await cli<Made>(words`token create --name root --role owner`);
  await cli(words`token revoke ${owner.id}`);
}

/** Gives, changes, repeats and withdraws feedback, also on a record that has not arrived. */
async function giveFeedback(
  send: (asked: Asked) => Promise<Answered>,
  key: string,
  records: string[],
): Promise<void> {
  const give = async (id: string, name: string, body: unknown, method = "PUT") => {
    const { status, text } = await send({ ...ask(key, `/v1/diagnosis/${id}/feedback/${name}`, body), method });
    if (status >= 300) throw new Error(`${status} ${text}`);
  };
  await give(records[0]!, "thumb", { value: true, comment: "It knew 👍", author: "u-1" });
  await give(records[0]!, "thumb", { value: false, author: "u-1" });
  await give(records[0]!, "grade", { value: 4.5 });
  await give(records[2]!, "tone", { value: "friendly", author: "ben" });
  await give(records[2]!, "tone", { author: "ben" }, "DELETE");
  await give("order-9999-1", "thumb", { value: true });
}

// Runs commands on a service and on its model, and compares them.
import * as assert from "uvu/assert";
import { readSlotId } from "../../src/common/ids.ts";
import type { DeploymentId, KeyId } from "../../src/common/ids.ts";
import type { Call, Diagnosis, MonthUsage } from "../../src/schema/ledger.ts";
import { balancedBooks, readAll, refused, taken } from "../management/management.ts";
import { bearer, createTenant, createWorld, goodBody, openMemory, promptFile } from "../helpers.ts";
import type { Answer } from "../helpers.ts";
import { bodyOf, createModel, endOfMonth, monthOf } from "./model.ts";
import type { Asked, Deployment, Key, Rollout, Sent, Workspace } from "./model.ts";
import { day, minute } from "./model-commands.ts";
import type { Command, RequestCommand } from "./model-commands.ts";
import { losingReplies, upTo } from "./requests.ts";

const at = <T>(items: T[], index: number): T => items[index % items.length]!;
const momentOf = (now: number, lifetime: number | null) => lifetime === null ? Infinity : now + lifetime;
const toJson = (moment: number) => moment === Infinity ? null : moment;

const absent = { latency: null, startAt: null, endAt: null, additional_properties: null };

/** A service and its model. Of two workspaces the first has two deployments. The requests of a third are always accepted. */
export async function createStage() {
  const memory = await openMemory();
  const loss = { times: 0 };
  let gate = Promise.resolve();
  const lossy = losingReplies({
    ...memory,
    write: async (statements) => {
      await gate;
      return memory.write(statements);
    },
  }, loss);
  const world = await createWorld({ monthlyLimit: 1e9, database: lossy });
  const model = createModel();
  const workspaces: Workspace[] = [];
  const keys: Key[] = [];
  const deployments: Deployment[] = [];
  let furthest = world.now;

  function toModel(tenant: Awaited<ReturnType<typeof createTenant>>, limit: number): [Workspace, Key, Deployment] {
    const { workspaceId: id, keyId, key, promptId, deployId } = tenant;
    const workspace = { id, name: "Acme", limit, promptId, titles: [promptFile.title] };
    const secrets = [{ key, until: Infinity }];
    return [
      workspace,
      { id: keyId, workspace, expiry: Infinity, isRevoked: false, secrets },
      {
        id: deployId,
        workspace,
        name: "production",
        stack: [1],
        lastRead: undefined,
        isActive: true,
        revision: 1,
        rollouts: [],
      },
    ];
  }

  for (const limit of [4, 6]) {
    const [workspace, key, deployment] = toModel(await createTenant(world.admin, limit), limit);
    // So that most rollouts have a candidate.
    const title = "A";
    taken(await world.manage("POST", `/prompts/${workspace.promptId}/versions`, { ...promptFile, title }), 201);
    workspace.titles.push(title);
    workspaces.push(workspace);
    keys.push(key);
    deployments.push(deployment);
  }
  const [first] = workspaces as [Workspace];
  const body = { name: "second", promptId: first.promptId, version: 1 };
  const made = taken<{ id: DeploymentId }>(
    await world.manage("POST", `/workspaces/${first.id}/deployments`, body),
    201,
  );
  deployments.push({
    id: made.id,
    workspace: first,
    name: "second",
    stack: [1],
    lastRead: undefined,
    isActive: true,
    revision: 1,
    rollouts: [],
  });
  const [, keeperKey, keeperDeployment] = toModel(world, 1e9);

  function read(id: string, key: string, asked: Asked): Promise<Answer> {
    const query = typeof asked === "object" ? `&key=${asked.key}` : "";
    const headers = { ...bearer(key), ...(asked === "both" ? { "Accept-Rollout": "1" } : {}) };
    return world.send(`/v1/prompts?deployId=${id}${query}`, { headers });
  }

  async function sendAll(sent: Sent[], losses = 0): Promise<void> {
    // The first group is held until all requests have arrived, so that the others share the next one.
    gate = new Promise((resolve) => setTimeout(resolve, 2));
    loss.times = losses;
    const answers = await Promise.all(sent.map((one) => {
      const { kind, secret: { key }, deployment: { id } = { id: "dep_0" }, idempotencyKey } = one;
      if (kind === "usage") return world.send("/v1/usage", { headers: { Authorization: `Bearer ${key}` } });
      const headers = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
      return kind === "read" ? read(id, key, one.asked) : world.submit(bodyOf(one), id, key, headers);
    }));
    loss.times = 0;
    for (const [index, { status, json }] of answers.entries()) {
      const { kind, deployment } = sent[index]!;
      if (kind !== "read" || status !== 200) continue;
      deployment!.lastRead = (json as { deploy: { currentVersion: number } }).deploy.currentVersion;
    }
    const lines = answers.map(({ status, text, headers }, index) => {
      const { kind, session, idempotencyKey, deployment } = sent[index]!;
      return [kind, session, idempotencyKey, deployment?.id, status, headers.get("X-RateLimit-Used"), text].join(" ");
    });
    const acceptedBy = await findOwners(sent, answers);
    assert.ok(
      model.explain(sent, answers, world.now, acceptedBy),
      `no order explains these answers:\n${lines.join("\n")}`,
    );
  }

  /** The keys whose calls have the records that several keys sent at once. */
  async function findOwners(sent: Sent[], answers: Answer[]): Promise<Map<string, KeyId>> {
    const found = new Map<string, KeyId>();
    for (const [index, { status, json }] of answers.entries()) {
      const { id } = (json ?? {}) as { id?: string };
      if (status !== 201 || id === undefined || found.has(id)) continue;
      const isSame = (other: Answer, nth: number) =>
        (other.json as { id?: string } | undefined)?.id === id && sent[nth]!.key !== sent[index]!.key;
      if (!answers.some(isSame)) continue;
      const { commitId, slot } = readSlotId("diag", id)!;
      const [row] = await memory.read({
        sql: `select c.api_key_id from commits m join calls c
          on c.position = (select max(position) from calls where position <= m.position + ?) where m.id = ?`,
        args: [slot, commitId],
      });
      found.set(id, row!.api_key_id as KeyId);
    }
    return found;
  }

  function toSent({ key: which, deployment, isOwn, version, rollout: wanted, ...rest }: RequestCommand): Sent {
    const key = at(keys, which);
    const own = deployments.filter(({ workspace }) => workspace === key.workspace);
    const choice = isOwn ? at(own, deployment) : at([...deployments, undefined], deployment);
    const of =
      { none: undefined, last: choice?.rollouts.at(-1), first: choice?.rollouts[0], missing: undefined }[wanted];
    const rollout = wanted === "missing" ? "ro_missing" : of?.id;
    const promptVersion = version === "none" || choice === undefined
      ? of && (rest.session === "a" ? of.base : of.version)
      : version === "read"
      ? choice.lastRead
      : choice.workspace.titles.length + 1;
    const secret = at(key.secrets, key.secrets.length - 1 + which);
    return { ...rest, key, secret, deployment: choice, promptVersion, rollout };
  }

  const change = async (deployment: Deployment, action: string, body: object = {}) =>
    await world.manage("POST", `/deployments/${deployment.id}/${action}`, body);

  /** Checks the answer to a change of a deployment. `isChange` says whether the value differs from the one before. */
  function changed(deployment: Deployment, answer: Answer, isChange: boolean): void {
    if (isChange) deployment.revision++;
    const { changed, revision } = taken(answer);
    assert.equal([changed, revision], [isChange, deployment.revision]);
  }

  function makeLive(deployment: Deployment, version: number): boolean {
    const isChange = deployment.stack.at(-1) !== version;
    if (isChange) deployment.stack.push(version);
    if (isChange) endRollout(deployment);
    return isChange;
  }

  /** Returns whether one was active. */
  function endRollout({ rollouts }: Deployment): boolean {
    const last = rollouts.at(-1);
    const isActive = last?.isActive === true;
    if (last !== undefined) last.isActive = false;
    return isActive;
  }

  async function roll(deployment: Deployment, version: number, percent: number): Promise<void> {
    const answer = await change(deployment, "rollout", { version, percent });
    const last = deployment.rollouts.at(-1), base = deployment.stack.at(-1)!;
    const isActive = last?.isActive === true;
    if (!deployment.isActive || version === base || isActive && last.version !== version) {
      return assert.is(answer.status, 409);
    }
    changed(deployment, answer, !isActive || last.percent !== percent);
    if (isActive) last.percent = percent;
    else {
      type Listed = Rollout & { endedAt: number | null };
      const listed = await readAll<Listed>(world, `/deployments/${deployment.id}/rollouts`);
      const { id, salt } = listed.find(({ endedAt }) => endedAt === null)!;
      deployment.rollouts.push({ id, salt, base, version, percent, isActive: true });
    }
  }

  /** Checks which secrets are valid now. */
  async function trySecrets(): Promise<void> {
    const secrets = keys.flatMap(({ secrets }) => secrets);
    const answers = await Promise.all(
      secrets.map(({ key }) => world.send("/v1/usage", { headers: { Authorization: `Bearer ${key}` } })),
    );
    assert.equal(answers.map(({ status }) => status), secrets.map(({ until }) => until > world.now ? 200 : 401));
  }

  async function run(command: Command): Promise<void> {
    await execute(command);
    if (!("requests" in command)) await trySecrets();
  }

  async function execute(command: Command): Promise<void> {
    const { now } = world;
    if ("requests" in command) return await sendAll(command.requests.map(toSent), command.losses);
    if ("wait" in command || "turnOfMonth" in command) {
      const next = "wait" in command ? now + command.wait : endOfMonth(monthOf(now)) + command.turnOfMonth;
      // The clock steps back by at most this much.
      world.now = Math.max(next, furthest - 50 * minute);
      furthest = Math.max(furthest, world.now);
    } else if ("room" in command) {
      const workspace = at(workspaces, command.workspace);
      const { used } = model.balances().find(({ workspaceId, month }) =>
        workspaceId === workspace.id && month === monthOf(now)
      ) ?? { used: 0 };
      workspace.limit = Math.max(0, used + command.room);
      taken(await world.manage("PATCH", `/workspaces/${workspace.id}`, { monthlyLimit: workspace.limit }));
    } else if ("rotate" in command) {
      const key = at(keys, command.rotate);
      const expiry = command.lifetime === 0 ? key.expiry : momentOf(now, command.lifetime);
      const body = { overlapMs: command.overlapMs, ...(expiry === key.expiry ? {} : { expiresAt: toJson(expiry) }) };
      const answer = await world.manage("POST", `/keys/${key.id}/rotate`, body);
      if (key.isRevoked) return refused(answer, 409, `API key ${key.id} is revoked`);
      if (expiry <= now) return refused(answer, 409, `API key ${key.id} has expired: give it a new expiry`);
      const overlap = Math.min(now + command.overlapMs, key.expiry, expiry);
      // Without an overlap a secret has ended for good, even if the clock goes back.
      for (const secret of key.secrets) secret.until = overlap > now ? Math.min(secret.until, overlap) : 0;
      const { key: secret, overlapEndsAt, expiresAt } = taken<Record<string, never>>(answer);
      assert.equal([overlapEndsAt, expiresAt], [overlap > now ? overlap : null, toJson(expiry)]);
      key.secrets.push({ key: secret!, until: expiry });
      key.expiry = expiry;
    } else if ("lifetime" in command) {
      const workspace = at(workspaces, command.workspace);
      const expiry = momentOf(now, command.lifetime);
      const answer = await world.manage("POST", `/workspaces/${workspace.id}/keys`, { expiresAt: toJson(expiry) });
      if (expiry <= now) return refused(answer, 400, "Field expiresAt must be in the future");
      const { id, key } = taken<{ id: KeyId; key: string }>(answer, 201);
      keys.push({ id, workspace, expiry, isRevoked: false, secrets: [{ key, until: expiry }] });
    } else if ("revoke" in command) {
      const key = at(keys, command.revoke);
      taken(await world.manage("POST", `/keys/${key.id}/revoke`));
      key.isRevoked = true;
      for (const secret of key.secrets) secret.until = 0;
    } else if ("publish" in command) {
      const deployment = at(deployments, command.publish);
      const { id, promptId, titles } = deployment.workspace;
      const content = { ...promptFile, title: command.title };
      const isNew = titles.at(-1) !== command.title;
      if (isNew) titles.push(command.title);
      const answer = command.isLive
        ? await world.manage("POST", `/workspaces/${id}/publish`, { ...content, deploy: deployment.id })
        : await world.manage("POST", `/prompts/${promptId}/versions`, content);
      const pushed = taken(answer, isNew && !command.isLive ? 201 : 200);
      assert.equal([pushed.version, pushed.isNew], [titles.length, isNew]);
      if (command.isLive && makeLive(deployment, titles.length)) deployment.revision++;
    } else if ("promote" in command) {
      const deployment = at(deployments, command.promote);
      const version = 1 + command.version % deployment.workspace.titles.length;
      changed(deployment, await change(deployment, "promote", { version }), makeLive(deployment, version));
    } else if ("rollBack" in command) {
      const deployment = at(deployments, command.rollBack);
      const answer = await change(deployment, "rollback");
      if (deployment.stack.length === 1) return assert.is(answer.status, 409);
      deployment.stack.pop();
      endRollout(deployment);
      changed(deployment, answer, true);
      assert.is(taken(answer).currentVersion, deployment.stack.at(-1));
    } else if ("activate" in command) {
      const deployment = at(deployments, command.activate);
      const answer = await change(deployment, command.isActive ? "activate" : "deactivate");
      changed(deployment, answer, deployment.isActive !== command.isActive);
      deployment.isActive = command.isActive;
      if (!command.isActive) endRollout(deployment);
    } else if ("roll" in command) {
      const deployment = at(deployments, command.roll);
      await roll(deployment, 1 + command.version % deployment.workspace.titles.length, command.percent);
    } else if ("stopRollout" in command) {
      const deployment = at(deployments, command.stopRollout);
      changed(deployment, await change(deployment, "rollout/stop"), endRollout(deployment));
    } else if ("rename" in command) {
      const deployment = at(deployments, command.rename);
      const { name } = command;
      const isTaken = deployments.some((one) =>
        one !== deployment && one.workspace === deployment.workspace && one.name === name
      );
      if (isTaken) return assert.is((await change(deployment, "rename", { name })).status, 409);
      const answer = await change(deployment, "rename", { name: command.name });
      changed(deployment, answer, deployment.name !== command.name);
      deployment.name = command.name;
    } else if ("remove" in command) {
      const records = model.entries().filter(({ record }) => record !== undefined);
      if (records.length === 0) return;
      const entry = at(records, command.remove);
      const answer = await world.manage("DELETE", `/diagnoses/${entry.record!.id}`);
      if (entry.isPruned) return assert.is(answer.status, 404);
      assert.is(taken(answer).deleted, entry.isDeleted ? 0 : 1);
      entry.isDeleted = true;
    } else if ("removeSession" in command) {
      const { id } = at(deployments, command.deployment);
      const found = liveOf(id).filter(({ record }) => record!.session === command.removeSession);
      const path = `/deployments/${id}/diagnoses?sessionId=${command.removeSession}`;
      assert.is(taken(await world.manage("DELETE", path)).deleted, found.length);
      for (const entry of found) entry.isDeleted = true;
    } else {
      await prune(command.pruneDays * day);
    }
  }

  const liveOf = (deployId: string) =>
    model.entries().filter((entry) =>
      entry.record !== undefined && entry.deployId === deployId && !entry.isDeleted && !entry.isPruned
    );

  /** Prunes the calls before the first that is not older. The newest commit always stays, so it is made here. */
  async function prune(olderThanMs: number): Promise<void> {
    const [secret] = keeperKey.secrets;
    const rest = {
      kind: "read",
      session: "",
      idempotencyKey: undefined,
      isBad: false,
      promptVersion: undefined,
      rollout: undefined,
      asked: "live",
    } as const;
    await sendAll([{ ...rest, key: keeperKey, secret: secret!, deployment: keeperDeployment }]);
    const left = model.entries().filter(({ isPruned }) => !isPruned);
    const end = left.findIndex(({ createdAt }) => createdAt >= world.now - olderThanMs);
    const old = left.slice(0, end);
    const records = old.filter(({ record, isDeleted }) => record !== undefined && !isDeleted).length;
    const pruned = taken(await world.manage("POST", "/prune", { olderThanMs }));
    assert.equal(pruned, { calls: old.length, records, isDone: true });
    for (const entry of old) entry.isPruned = true;
  }

  /** Compares all that the service stores with the model. */
  async function compare(): Promise<void> {
    const { feedback: _feedback, audit: _audit, damaged: _damaged, ...ledgers } = taken(
      await world.manage("GET", "/verify"),
    );
    assert.equal(ledgers, balancedBooks(model.balances()));
    const left = model.entries().filter(({ isPruned }) => !isPruned).reverse();
    for (const { id, limit } of workspaces) {
      const calls = await readAll<Call>(world, `/workspaces/${id}/calls?limit=7`);
      const own = left.filter(({ workspace }) => workspace.id === id);
      const expected = own.map(({ workspace: _, record, isDeleted: _deleted, isPruned: _pruned, ...call }, index) => ({
        ...call,
        ...(record?.rollout === undefined ? {} : { rollout: record.rollout }),
        id: record?.id.replace("diag", "call") ?? calls[index]?.id,
      }));
      assert.equal(calls, expected);
      const months = model.balances().filter(({ workspaceId }) => workspaceId === id);
      const listed = await readAll<MonthUsage>(world, `/workspaces/${id}/usage`);
      assert.equal(
        listed.map(({ month, used }) => [month, used]).reverse(),
        months.map(({ month, used }) => [month, used]),
      );
      for (const { month, used, reads } of months) {
        const { days: _, keys: __, others: ___, lastCallAt: ____, ...usage } = taken(
          await world.manage("GET", `/workspaces/${id}/usage/${month}`),
        );
        const counts = { used, remaining: Math.max(0, limit - used), reads, submits: used - reads };
        assert.equal(usage, { month, limit, ...counts, resetTime: endOfMonth(month) / 1000 });
      }
    }
    for (const { id, revision, rollouts } of deployments) {
      const history = await readAll<{ revision: number }>(world, `/deployments/${id}/history?limit=7`);
      assert.equal(history.map(({ revision }) => revision).reverse(), upTo(revision));
      const { reference, rollout } = taken<{ reference: string; rollout: object | null }>(
        await world.manage("GET", `/deployments/${id}`),
      );
      const last = rollouts.at(-1);
      assert.is(rollout !== null, last?.isActive === true);
      const ended = await readAll<{ id: string; endedAt: number | null }>(world, `/deployments/${id}/rollouts?limit=7`);
      assert.equal(
        new Map(ended.map(({ id, endedAt }) => [id, endedAt === null])),
        new Map(rollouts.map(({ id, isActive }) => [id, isActive])),
      );
      const records = await readAll<Diagnosis>(world, `/deployments/${id}/diagnoses?limit=7`);
      const expected = liveOf(id).reverse().map(({ record, promptVersion, createdAt, keyId }) => ({
        ...{ id: record!.id, ...goodBody, sessionId: record!.session, ...absent, promptVersion, createdAt },
        ...(record!.rollout === undefined ? {} : { rollout: record!.rollout }),
        ...{ deployId: id, reference, keyId, statusName: "ok" },
      }));
      assert.equal(records, expected);
    }
    for (const { record, isDeleted, isPruned } of model.entries()) {
      if (record === undefined) continue;
      const { status } = await world.manage("GET", `/diagnoses/${record.id}`);
      assert.is(status, isPruned ? 404 : isDeleted ? 410 : 200);
    }
    assert.equal(world.logged, []);
  }

  return { run, compare };
}

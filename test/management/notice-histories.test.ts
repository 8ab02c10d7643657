// Two months of random traffic in several workspaces, looked at by two services, on clocks that step: after each look, what was said
// is what a recount says, each of it once.
import { isFull, suite } from "../suite.ts";
import fc from "fast-check";
import * as assert from "uvu/assert";
import { verifyBalanced } from "../balanced.ts";
import type { Budget, BudgetState } from "../../src/management/money/budgets.ts";
import { runChecks } from "../../src/management/upkeep/checks.ts";
import type { Event } from "../../src/management/events/events.ts";
import type { Usage } from "../../src/management/records/usage.ts";
import { createTenant, createWorld, goodBody } from "../helpers.ts";
import type { Tenant, World } from "../helpers.ts";
import { readAll, taken } from "./management.ts";

const test = suite("histories of notices");

const hour = 3_600_000, day = 24 * hour; // ms
const monthOf = (at: number) => new Date(at).toISOString().slice(0, 7);
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const periodOf = (per: "day" | "month", at: number) => per === "day" ? dayOf(at) : monthOf(at);

/** What happens. A number chooses a workspace, a budget or a kind of one, of which there may be fewer. */
type Step =
  | { do: "use"; which: number; reads: number; costs: number[]; hours: number }
  /** No service looks for so long. */
  | { do: "down"; which: number; reads: number; costs: number[]; hours: number }
  | { do: "clock"; hours: number }
  | { do: "limit"; which: number; limit: number }
  | { do: "budget"; which: number; kind: number; cents: number; per: "day" | "month" }
  | { do: "amount"; which: number; cents: number }
  | { do: "key"; which: number; days: number }
  | { do: "price" };

const which = fc.nat(2), cents = fc.integer({ min: 1, max: 400 });
const traffic = { which, reads: fc.nat(4), costs: fc.array(fc.nat(5000), { maxLength: 3 }) }; // 10^-4 USD
const step = (hasSteppingClock: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    { weight: 24, arbitrary: fc.record({ do: fc.constant("use" as const), ...traffic, hours: fc.nat(40) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("down" as const), ...traffic, hours: fc.nat(12) }) },
    {
      weight: hasSteppingClock ? 3 : 0,
      arbitrary: fc.record({ do: fc.constant("clock" as const), hours: fc.integer({ min: -6, max: 6 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("limit" as const), which, limit: fc.constantFrom(0, 20, 50, 100, 333) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        ...{ do: fc.constant("budget" as const), which, kind: fc.nat(3), cents },
        per: fc.constantFrom("day" as const, "month" as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("amount" as const), which: fc.nat(20), cents }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("key" as const), which, days: fc.integer({ min: 1, max: 40 }) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("price" as const) }) },
  );

type Use = {
  tenant: number;
  at: number;
  month: string;
  day: string;
  isRead: boolean;
  isOtherKey: boolean;
  cost: number;
};

/** A plain recount of all that has happened, which knows no more than the steps. */
class Recount {
  uses: Use[] = [];
  limits: { limit: number; changedAt: number; createdAt: number }[] = [];
  budgets: (Pick<Budget, "id" | "per"> & { tenant: number; kind: number; cents: number; changedAt: number })[] = [];
  keys: { id: string; createdAt: number; expiresAt: number }[] = [];
  facts = new Set<string>();
  ids: string[] = [];

  readonly hasSteppingClock: boolean;

  constructor(hasSteppingClock: boolean) {
    this.hasSteppingClock = hasSteppingClock;
  }

  usedOf = (tenant: number, month: string) =>
    this.uses.filter((use) => use.tenant === tenant && use.month === month).length;

  spentOf({ tenant, kind, per }: Recount["budgets"][number], period: string): number {
    const mine = this.uses.filter((use) => use.tenant === tenant && use[per] === period);
    // Kinds: of all records, of the only prompt, of the other key, of the prompt and that key.
    return mine.filter((use) => kind < 2 || use.isOtherKey).reduce((sum, { cost }) => sum + cost, 0);
  }

  /** What a service that looks now has to say. */
  look(now: number): void {
    for (const [tenant, { limit, changedAt }] of this.limits.entries()) {
      const months = new Set(this.uses.filter((use) => use.tenant === tenant).map((use) => use.month));
      for (const month of months) {
        const isOver = month < monthOf(now);
        if (month < monthOf(now - day) || isOver && changedAt >= Date.parse(monthOf(now)) || limit === 0) continue;
        const used = this.usedOf(tenant, month);
        this.reach(
          [50, 80, 90, 100].filter((percent) => used >= limit * percent / 100),
          (percent) => `quota.reached ${this.ids[tenant]} ${month} ${percent} ${limit}`,
        );
      }
      if (!this.hasSteppingClock && this.willNotLast(tenant, now)) {
        this.facts.add(`quota.forecast ${this.ids[tenant]} ${monthOf(now)}`);
      }
    }
    for (const budget of this.budgets) {
      const { id, per, cents, changedAt } = budget;
      for (const period of new Set(this.uses.map((use) => use[per]))) {
        const isPresent = period >= periodOf(per, now) ||
          period >= periodOf(per, now - day) && period >= periodOf(per, changedAt);
        if (!isPresent) continue;
        const spent = this.spentOf(budget, period);
        this.reach(
          // 10^-4 USD, of which a cent has 100, times 100 for percents.
          [50, 80, 100].filter((percent) => spent * 100 >= percent * cents * 100),
          (percent) => `budget.reached ${id} ${period} ${percent} ${cents / 100}`,
        );
      }
    }
    for (const { id, createdAt, expiresAt } of this.keys) {
      for (const [days, least] of [[14, 3], [3, 0]] as const) {
        const from = expiresAt - days * day;
        if (now >= from && now < expiresAt - least * day && createdAt < from) {
          this.facts.add(`key.expiring ${id} ${expiresAt} ${days}`);
        }
      }
    }
  }

  /** Of several thresholds that are reached the highest is said, and none below one that was. */
  reach(percents: number[], factOf: (percent: number) => string): void {
    const highest = percents.at(-1);
    const isSaid = [50, 80, 90, 100].some((percent) => percent > highest! && this.facts.has(factOf(percent)));
    if (highest !== undefined && !isSaid) this.facts.add(factOf(highest));
  }

  /** As the console computes it: by whole days. */
  willNotLast(tenant: number, now: number): boolean {
    const { limit, createdAt } = this.limits[tenant]!, month = monthOf(now);
    const since = Math.max(Date.parse(`${month}-01`), Math.floor((now - 7 * day) / day) * day, createdAt);
    const used = this.usedOf(tenant, month);
    const recent = this.uses.filter((use) => use.tenant === tenant && use.month === month && use.at >= since).length;
    if (now - since < day || recent === 0 || used >= limit) return false;
    const end = Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1);
    return now + (limit - used) / (recent / (now - since)) < end;
  }
}

const toFact = ({ type, subject: { id }, after }: Event): string => {
  const { period, percent, quota, amount, expiresAt, days } = after as Record<string, string | number>;
  const of = {
    "quota.reached": [period, percent, quota],
    "quota.forecast": [period],
    "budget.reached": [period, percent, amount],
    "key.expiring": [expiresAt, days],
  }[type]!;
  return [type, id, ...of].join(" ");
};

class Simulation {
  said: string[] = [];
  next = 0;
  turn = 0;
  otherKeys: { id: string; key: string }[] = [];

  readonly world: World;
  readonly tenants: Tenant[];
  readonly recount: Recount;

  constructor(world: World, tenants: Tenant[], recount: Recount) {
    this.world = world;
    this.tenants = tenants;
    this.recount = recount;
  }

  /** One service looks, or two at once. Then everything has been said, once, and nothing else. */
  async look(): Promise<void> {
    const { world } = this;
    const services = ++this.turn % 3 === 0 ? 2 : 1;
    const errors = await Promise.all(
      Array.from(
        { length: services },
        () => runChecks({ store: { database: world.database, clock: () => world.now }, isOver: () => false }),
      ),
    );
    assert.equal(errors.flat(), []);
    this.recount.look(world.now);
    const types = `quota.reached,${this.recount.hasSteppingClock ? "" : "quota.forecast,"}budget.reached,key.expiring`;
    const { items, next } = taken<{ items: Event[]; next: number }>(
      await world.manage("GET", `/events?limit=1000&after=${this.next}&types=${types}`),
    );
    this.next = next;
    this.said.push(...items.map(toFact));
    assert.equal([...this.said].sort(), [...this.recount.facts].sort());
  }

  async traffic({ which, reads, costs }: Extract<Step, { costs: number[] }>): Promise<void> {
    const { world, recount } = this, { key, deployId } = this.tenants[which]!;
    const at = world.now, when = { at, month: monthOf(at), day: dayOf(at) };
    const note = (status: number, of: Pick<Use, "isRead" | "isOtherKey" | "cost">) => {
      assert.ok([200, 201, 429, 402, 403].includes(status), String(status));
      if (status < 300) recount.uses.push({ tenant: which, ...when, ...of });
    };
    for (let nth = 0; nth < reads; nth++) {
      note((await world.read(deployId, key)).status, { isRead: true, isOtherKey: false, cost: 0 });
    }
    for (const cost of costs) {
      const isOtherKey = cost % 2 === 1, own = isOtherKey ? this.otherKeys[which]!.key : key;
      const { status } = await world.submit({ ...goodBody, cost: cost / 10_000 }, deployId, own);
      note(status, { isRead: false, isOtherKey, cost });
    }
  }

  async run(step: Step): Promise<void> {
    const { world, recount } = this;
    if (step.do === "clock") world.now += step.hours * hour;
    if (step.do === "use" || step.do === "down") {
      if (step.do === "use") world.now += step.hours * hour;
      await this.traffic(step);
      if (step.do === "down") world.now += step.hours * hour;
    }
    if (step.do === "limit") {
      const { which, limit } = step, of = recount.limits[which]!;
      taken(await world.manage("PATCH", `/workspaces/${this.tenants[which]!.workspaceId}`, { monthlyLimit: limit }));
      if (of.limit !== limit) Object.assign(of, { limit, changedAt: world.now });
    }
    if (step.do === "budget") {
      const { which, kind, cents, per } = step, { workspaceId, promptId } = this.tenants[which]!;
      const of = {
        ...kind % 2 === 1 ? { promptId } : {},
        ...kind >= 2 ? { keyId: this.otherKeys[which]!.id } : {},
      };
      const body = { amount: (cents / 100).toFixed(2), per, ...of };
      const { id } = taken<Budget>(await world.manage("POST", `/workspaces/${workspaceId}/budgets`, body), 201);
      recount.budgets.push({ id, per, tenant: which, kind, cents, changedAt: world.now });
    }
    if (step.do === "amount" && recount.budgets.length > 0) {
      const budget = recount.budgets[step.which % recount.budgets.length]!, { cents } = step;
      taken(await world.manage("PATCH", `/budgets/${budget.id}`, { amount: (cents / 100).toFixed(2) }));
      if (budget.cents !== cents) Object.assign(budget, { cents, changedAt: world.now });
    }
    if (step.do === "key") {
      const expiresAt = world.now + step.days * day;
      const { workspaceId } = this.tenants[step.which]!;
      const { id } = taken<{ id: string }>(
        await world.manage("POST", `/workspaces/${workspaceId}/keys`, { expiresAt }),
        201,
      );
      recount.keys.push({ id, createdAt: world.now, expiresAt });
    }
    // Everything is counted again.
    if (step.do === "price") {
      taken(await world.manage("POST", "/prices", { model: "x", input: String(this.turn), output: "1" }));
    }
    await this.look();
  }

  /** What the API shows is what was recounted. */
  async compare(): Promise<void> {
    const { world, recount } = this, month = monthOf(world.now);
    for (const [tenant, { workspaceId }] of this.tenants.entries()) {
      const { used } = taken<Usage>(await world.manage("GET", `/workspaces/${workspaceId}/usage/${month}`));
      assert.is(used, recount.usedOf(tenant, month));
      for (const { id, period, spent } of await readAll<BudgetState>(world, `/workspaces/${workspaceId}/budgets`)) {
        const budget = recount.budgets.find((each) => each.id === id)!;
        assert.is(Number(spent), recount.spentOf(budget, period) / 10_000);
      }
    }
  }
}

async function simulate(steps: Step[], hasSteppingClock: boolean): Promise<void> {
  const world = await createWorld({ monthlyLimit: 50 });
  world.now = Date.UTC(2026, 10, 15, 13);
  const others = [await createTenant(world.admin, 20, "Other"), await createTenant(world.admin, 100, "Third")];
  const recount = new Recount(hasSteppingClock), simulation = new Simulation(world, [world, ...others], recount);
  for (const [nth, { workspaceId }] of simulation.tenants.entries()) {
    const key = await world.manage("POST", `/workspaces/${workspaceId}/keys`, { name: "other" });
    simulation.otherKeys.push(taken<{ id: string; key: string }>(key, 201));
    const { createdAt } = taken<{ createdAt: number }>(await world.manage("GET", `/workspaces/${workspaceId}`));
    recount.limits.push({ limit: [50, 20, 100][nth]!, createdAt, changedAt: createdAt });
    recount.ids.push(workspaceId);
  }
  for (const [nth, step] of steps.entries()) {
    await simulation.run(step);
    if (nth % 20 === 19) await simulation.compare();
  }
  await simulation.compare();
  await verifyBalanced(world.admin);
}

for (const hasSteppingClock of [true, false]) {
  test(`two months of random traffic are told as a recount tells them, on clocks that ${hasSteppingClock ? "step" : "do not step"}`, async () => {
    const length = isFull ? { minLength: 120, maxLength: 160 } : { minLength: 60, maxLength: 70 };
    await fc.assert(
      fc.asyncProperty(fc.array(step(hasSteppingClock), length), (steps) => simulate(steps, hasSteppingClock)),
      { numRuns: isFull ? 8 : 1, endOnFailure: !isFull },
    );
  });
}

test.run();

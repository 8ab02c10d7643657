// A service on a database whose reads can be held up, to see what is asked of it meanwhile.
import { managementOverloaded } from "../../src/common/errors.ts";
import { createSlots } from "../../src/common/slots.ts";
import type { Slots } from "../../src/common/slots.ts";
import { managementWith } from "../../src/http/management.ts";
import type { Database } from "../../src/database/database.ts";
import { until } from "../conformance/processes.ts";
import { adminToken, bearer, captureLog, createTenant, managementOf } from "../helpers.ts";
import { noon, openMemory, readAnswer, serveContext } from "../helpers.ts";

/**
 * Makes such a service, which does so much long work at once; more of it waits for `timeout` ms, as changes do, and its
 * responses begin after `quietMs`.
 */
export async function openGated(most: number, timeout: number, quietMs?: number) {
  const memory = await openMemory();
  const tenant = await createTenant(managementOf(memory), 1e6);
  const state = { reads: 0, begun: 0, pass: (_isOpen: boolean) => {}, gate: Promise.resolve(true) };
  const database: Database = {
    ...memory,
    async read(statement) {
      state.reads++;
      await state.gate;
      return await memory.read(statement);
    },
  };
  const { log, logged } = captureLog("info");
  const work = createSlots(most, timeout, managementOverloaded);
  const longWork: Slots = {
    async enter() {
      const leave = await work.enter();
      state.begun++;
      return leave;
    },
  };
  const faces = [managementWith({ adminToken }, () => longWork, { quietMs, changeTimeout: timeout })];
  const { fetch } = serveContext(database, { clock: () => noon, log, faces });
  const send = async (path: string, signal?: AbortSignal, method = "GET", body?: string) => {
    const init = {
      method,
      ...(body === undefined ? {} : { body }),
      headers: { Authorization: `Bearer ${adminToken}` },
      ...(signal === undefined ? {} : { signal }),
    };
    return readAnswer(await fetch(new Request(`http://ledger.test${path}`, init)));
  };
  return {
    ...tenant,
    state,
    logged,
    fetch,
    send,
    memory,
    /** Adds a call, since an empty log is not looked at in slices. */
    async addCall() {
      const headers = bearer(tenant.key);
      await fetch(new Request(`http://ledger.test/v1/prompts?deployId=${tenant.deployId}`, { headers }));
      logged.length = 0;
      state.reads = 0;
    },
    close: () => void (state.gate = new Promise((resolve) => state.pass = resolve)),
    /** Resolves when so much long work has begun. Requests come to it in any order, since their tokens are hashed on other threads. */
    begun: (count: number) => until(() => state.begun >= count),
    /** Resolves when the database has been asked for something. */
    asked: () => until(() => state.reads > 0),
  };
}

// A service on a database whose reads can be blocked, to see what happens meanwhile.
import { managementOverloaded } from "../../src/common/errors.ts";
import { createSlots } from "../../src/support/slots.ts";
import type { Slots } from "../../src/support/slots.ts";
import { managementWith } from "../../src/faces/management.ts";
import { mcpWith } from "../../src/mcp/face.ts";
import type { Database } from "../../src/database/database.ts";
import { until } from "../conformance/processes.ts";
import { adminToken, bearer, captureLog, createTenant, managementOf } from "../helpers.ts";
import { noon, openMemory, readAnswer, serveContext } from "../helpers.ts";

/**
 * Makes such a service. It runs `atOnce` long operations of one owner at once. More wait for `timeout` ms, as changes do. Responses start
 * after `quietMs`.
 */
export async function openGated(atOnce: number, timeout: number, quietMs?: number) {
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
  const work = createSlots(2 * atOnce - 1, timeout, managementOverloaded);
  const longWork: Slots = {
    async enter(owner) {
      const leave = await work.enter(owner);
      state.begun++;
      return leave;
    },
  };
  const faces = [
    managementWith({ adminToken }, () => longWork, { quietMs, changeTimeout: timeout }),
    mcpWith({ quietMs }),
  ];
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
    /** Adds a call, because an empty log is not scanned in slices. */
    async addCall() {
      const headers = bearer(tenant.key);
      await fetch(new Request(`http://ledger.test/v1/prompts?deployId=${tenant.deployId}`, { headers }));
      logged.length = 0;
      state.reads = 0;
    },
    close: () => void (state.gate = new Promise((resolve) => state.pass = resolve)),
    /** Resolves when so many long operations have begun. Their order varies, because tokens are hashed on other threads. */
    begun: (count: number) => until(() => state.begun >= count),
    /** Resolves when a read has reached the database. */
    asked: () => until(() => state.reads > 0),
  };
}

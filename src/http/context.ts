// What every handler is handed besides the request; there are no globals.
import type { Clock } from "../domain.ts";
import type { Log } from "../log.ts";
import type { Ledger } from "../store/ledger.ts";

export type Context = {
  ledger: Ledger;
  clock: Clock;
  log: Log;
  /** The largest body that is read, and how long it may take to arrive, in ms. */
  bodyLimit: { bytes: number; time: number };
};

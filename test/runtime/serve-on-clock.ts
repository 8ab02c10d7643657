// Serves with a monotonic clock that stands still until its test moves it: `performance.now` is what the file CLOCK says, in ms.
import { readFileSync } from "node:fs";
import process from "node:process";
import { serve } from "../../src/runtime/serving/serve.ts";

performance.now = () => Number(readFileSync(process.env.CLOCK!, "utf8"));
await serve();

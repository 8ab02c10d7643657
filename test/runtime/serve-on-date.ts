// Serves on the date that its test sets: `Date.now` is what the file CLOCK says, in Unix ms. Time itself passes as ever.
import { readFileSync } from "node:fs";
import process from "node:process";
import { serve } from "../../src/runtime/serving/serve.ts";

Date.now = () => Number(readFileSync(process.env.CLOCK!, "utf8"));
await serve();

#!/usr/bin/env node
// The command line: `promptledger <noun> <verb>`.
import { run } from "./cli/run.ts";
import { exitWith, terminal } from "./runtime/terminal.ts";

exitWith(await run(terminal));

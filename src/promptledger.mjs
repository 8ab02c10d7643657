#!/usr/bin/env node
// The command `promptledger` of the installed package: teaches Node to run TypeScript, then runs the command line.
import { register } from "tsx/esm/api";

register();
await import("./cli.ts");

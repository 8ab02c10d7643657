// For generated sequences of requests and management commands, many at once, the service answers and stores what a small model
// does. `SEED=1 NUM_RUNS=1000` tries other sequences, and more of them. A failure prints its seed and path.
import process from "node:process";
import fc from "fast-check";
import { isFull, suite } from "../suite.ts";
import { command } from "./model-commands.ts";
import { createStage } from "./model-stage.ts";

const test = suite("model");

const numRuns = Number(process.env.NUM_RUNS ?? (isFull ? 30 : 12));

test("for any sequence of requests and management commands, the service does what its model does", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 40, size: "max" }), async (commands) => {
      const { run, compare } = await createStage();
      let done = 0;
      try {
        for (; done < commands.length; done++) await run(commands[done]!);
        await compare();
      } catch (error) {
        const { message, details = "" } = error as Error & { details?: string };
        throw new Error(`after ${done} commands: ${message}\n${details}`);
      }
    }),
    // Bounds the time for shrinking a failure. A run takes some 0.1 s, and may take many times as long.
    { numRuns, includeErrorInReport: true, skipAllAfterTimeLimit: 6_000 * numRuns },
  );
});

test.run();

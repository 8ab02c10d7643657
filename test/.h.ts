import { attack, attackNames } from "./faults/hostile-bodies.ts";
import { inFolder } from "./faults/fault.ts";
for (const runtime of (process.argv[2] ?? "Node,Bun,Deno").split(",") as ("Node" | "Bun" | "Deno")[]) {
  for (const name of attackNames.filter((n) => n.includes(process.argv[3] ?? ""))) {
    const d = await inFolder((path) => attack(runtime, name, path));
    console.log(
      runtime.padEnd(5),
      name.padEnd(35),
      "+",
      d.growth,
      "MiB; slowest GET",
      d.slowest.toFixed(0),
      "ms of",
      d.requests,
      d.faults.join(),
      d.lost,
    );
  }
}
process.exit(0);

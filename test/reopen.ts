// Opens and closes a service on a file again and again: `test/reopen.ts URL TIMES`. Prints when it has done so.
import process from "node:process";
import { openService } from "../src/index.ts";

const [url, times] = process.argv.slice(2) as [string, string];
for (let round = 0; round < Number(times); round++) {
  const service = await openService({ database: url });
  await service.ready();
  await service.close();
}
console.log("closed");

// The audit log on the command line.
import { readFile } from "node:fs/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { toLines } from "../management/management.ts";
import { openPlaces, words } from "./places.ts";
import type { Data, Place } from "./places.ts";

const test = suite("audit log on the command line");

const { places, folder, close } = await openPlaces();
test.after(close);

const everywhere = (name: string, body: (place: Place) => Promise<void>) => {
  for (const place of places) test(`${name} (${place.name})`, () => body(place));
};

everywhere("audit list says what changed from what to what, and audit export writes it to a file", async (place) => {
  const { id } = await place.data(words`workspace create --name Audited`);
  await place.data(words`workspace update ${id!} --limit 20`);
  const scope = ["--workspace", id!];
  const { out } = await place.cli(words`audit list ${scope}`);
  assert.match(out, /workspace\.updated +monthlyLimit 10000 → 20 /);
  assert.match(out, /workspace\.created +Audited /);
  const listed = await place.data<Data[]>(words`audit list ${scope}`);
  assert.equal(listed.map(({ action }) => action), ["workspace.updated", "workspace.created"]);
  const file = `${folder}/${id}.ndjson`;
  assert.equal(await place.data(words`audit export ${scope} --out ${file}`), { file, format: "ndjson", entries: 2 });
  assert.equal(toLines(await readFile(file, "utf8")), listed);
});

test.run();

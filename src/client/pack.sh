#!/bin/sh
# `npm run pack:client`: packs promptledger-client: its entries, each one file without imports, what the client loads when it is first
# used, and the types. What both packages say of themselves is taken from package.json.
set -eu
package=.cache/promptledger-client
rm -rf "$package"
bundle() {
  esbuild "$@" --bundle --format=esm --target=es2023 --sourcemap --log-level=warning --outdir="$package"
}
bundle src/client/index.ts --splitting --chunk-names='[name]'
bundle ai-sdk=src/client/ai-sdk/index.ts providers=src/client/providers/index.ts
tsc -p src/client/tsconfig.pack.json --outDir "$package/types"
cp LICENSE "$package"
# Without its links to other files of the repository, which the package does not have.
sed -E 's/\[([^]]+)\]\([^)#:][^):]*\)/\1/g' src/client/README.md > "$package/README.md"
node --input-type=module > "$package/package.json" <<'SCRIPT'
import { readFileSync } from "node:fs";
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const { version, license, repository, type, engines } = read("package.json");
const shared = { version, license, repository: { ...repository, directory: "src/client" }, type, engines };
console.log(JSON.stringify({ ...read("src/client/manifest.json"), ...shared }, null, 2));
SCRIPT
npm pack --silent "./$package"

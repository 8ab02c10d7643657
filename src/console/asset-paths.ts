// Where the assets are, and what they are. Their addresses have the hash of their content, so that browsers keep them for good.
import { statusOf } from "../http/respond.ts";
import type { Answer } from "../http/respond.ts";
import { assets } from "./assets.ts";

type AssetName = keyof typeof assets;

/** The address of an asset below the console. */
export const assetPath = (name: AssetName): string => `a/${assets[name].hash}.${name.split(".")[1]}`;

const types: Record<string, string> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The asset at an address, or undefined. */
export function findAsset(file: string): Answer | undefined {
  const [name, asset] = Object.entries(assets).find(([name]) => assetPath(name as AssetName) === `a/${file}`) ?? [];
  if (name === undefined || asset === undefined) return undefined;
  return {
    status: statusOf.ok,
    headers: {
      "Content-Type": types[name.split(".")[1]!]!,
      "Cache-Control": "public, max-age=31536000, immutable",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
    body: asset.text,
  };
}

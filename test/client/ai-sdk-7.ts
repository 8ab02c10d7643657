// AI SDK 7 asks for Node 22, though it runs on 20. As a dependency of this repository it would make `npm ci` warn there, so
// the packages of the folder `ai-sdk-7` are installed apart.
import type * as ai6 from "ai-6";
import type * as openAICompatible2 from "openai-compatible-2";
import { modulesOf } from "../packages.ts";

/** Of what 7 shares with 6, the types are those of 6. */
export type AiSdk7 = {
  sdk: typeof ai6;
  createOpenAICompatible: typeof openAICompatible2.createOpenAICompatible;
  /** Of the module that is `sdk`. */
  url: string;
};

/** Loads AI SDK 7. Unless it is installed, it is installed first, or with `install: false` there is none. */
export async function loadAiSdk7(options: { install: boolean }): Promise<AiSdk7 | undefined> {
  const modules = await modulesOf("test/client/ai-sdk-7", options);
  if (modules === undefined) return undefined;
  const url = `file://${modules}/ai/dist/index.js`;
  const { createOpenAICompatible } = await import(`file://${modules}/@ai-sdk/openai-compatible/dist/index.js`);
  return { sdk: await import(url), createOpenAICompatible, url };
}

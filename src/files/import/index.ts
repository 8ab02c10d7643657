// The importers by the names of what they read.
import { jsonText } from "../../common/json-text.ts";
import { formatOf, nameOfFile } from "../formats.ts";
import { placeOf } from "../faults.ts";
import { readDotprompt, readPrompty, readPromptYaml } from "../other-formats.ts";
import { readLangfuse } from "./langfuse.ts";
import { readLangSmith } from "./langsmith.ts";
import { readMlflow } from "./mlflow.ts";
import { readOpenAi } from "./openai.ts";
import { readPromptfoo } from "./promptfoo.ts";
import { readPromptLayer } from "./promptlayer.ts";
import { toConfig, toName } from "./reader.ts";
import type { Importer } from "./reader.ts";

/** Reads files that are a prompt each. */
const readEach = (read: typeof readPrompty): Importer => (files, { keepsLogic, complain }) =>
  files.flatMap(({ path, text }) => {
    const content = read(text, (offset, message, isWarning) => {
      const { line, column } = placeOf(text, offset);
      complain(`${path}:${line}:${column}`, message, isWarning);
    }, { keepsLogic });
    if (content === undefined) return [];
    const format = formatOf(path), base = (format === undefined ? path : nameOfFile(path, format)).replace(/^.*\//, "");
    const { title = base, description = "", messages, llmConfig = jsonText("{}") } = content;
    const config = toConfig(JSON.parse(llmConfig.text), path, complain);
    return [{
      name: toName(base),
      versions: [{ number: "", title, description, messages, llmConfig: config, note: "", labels: [] }],
    }];
  });

export const importers: Record<string, Importer> = {
  langfuse: readLangfuse,
  openai: readOpenAi,
  github: readEach(readPromptYaml),
  dotprompt: readEach(readDotprompt),
  prompty: readEach(readPrompty),
  promptfoo: readPromptfoo,
  langsmith: readLangSmith,
  promptlayer: readPromptLayer,
  mlflow: readMlflow,
};

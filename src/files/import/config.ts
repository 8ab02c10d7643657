// Configurations of other tools, without what may be secret.
import { jsonText, readItems, readMembers, stringifyMembers } from "../../common/json-text.ts";
import type { LlmConfig } from "../../schema/serving.ts";
import { findSecrets } from "../formats/secrets.ts";

const secretName =
  /(^|[_-])(api[_-]?key|(?:access|private)[_-]?key|secrets?|passwords?|passphrase|token|bearer|cookie|credentials?|authorization|connection)($|[_-])/i;
const modelToken = /(^|[_-])(bos|eos|pad|stop|sep|cls|mask|unk|start|end|special|max|min)[_-]token($|[_-])/i;

// Members that hold a JSON schema, or a form of one, in which each name is that of a property.
const schemas =
  /^(?:schema_?|(?:json|input|output|response|args)_?schema|properties|\$defs|definitions|patternProperties)$/i;

/** Determines if a JSON text is a schema, under any name. */
const isSchema = (json: string): boolean => {
  if (!json.startsWith("{")) return false;
  const members = readMembers(json);
  return ["$schema", "properties", "$ref", "anyOf", "oneOf", "allOf"].some((name) =>
    /^["{[]/.test(members.get(name) ?? "")
  );
};

/** Determines if a member of a configuration may be a secret. A number never is, such as `max_token`. */
function isSecret(name: string, json: string): boolean {
  if (json.startsWith('"') && findSecrets(JSON.parse(json) as string).length > 0) return true;
  // LangChain's serialisation has an object in the place of a secret.
  if (json.startsWith("{") && readMembers(json).get("type") === '"secret"') return true;
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1_$2");
  return /^["{[]/.test(json) && secretName.test(words) && !modelToken.test(words);
}

/**
 * A configuration without members that may be secret, at any depth but in schemas. `leaveOut` receives the
 * path of each secret, and returns whether it is left out.
 */
export function toConfig(
  members: readonly [name: string, json: string][],
  leaveOut: (path: string) => boolean,
): LlmConfig {
  const keep = (json: string, path: string): string => {
    const below = (name: string) => path === "" ? name : `${path}.${name}`;
    if (path !== "" && isSchema(json)) return json;
    if (json.startsWith("[")) {
      return `[${readItems(json).flatMap((item, nth) => keepMember(String(nth), item, below(String(nth)))).join(",")}]`;
    }
    if (!json.startsWith("{")) return json;
    return stringifyMembers(
      [...readMembers(json)].flatMap(([name, own]) =>
        keepMember(name, own, below(name)).map((kept): [string, string] => [name, kept])
      ),
    );
  };
  const keepMember = (name: string, json: string, path: string): string[] => {
    const isOfTool = name === "parameters" && /(?:^|\.)(?:tools?|functions?)\./.test(path);
    if ((isOfTool || schemas.test(name)) && json.startsWith("{")) return [json];
    if (!isSecret(name, json) || !leaveOut(path)) return [keep(json, path)];
    return [];
  };
  return jsonText(keep(stringifyMembers(members), ""));
}

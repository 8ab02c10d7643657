// `promptledger.yml`: which folder holds the prompts of which workspace, and what goes to which deployment.
import { deploymentName, promptName } from "../management/values.ts";
import { isCount } from "../schema/values.ts";
import type { Report } from "./faults.ts";
import { readMembersOf } from "./members.ts";
import { readYaml } from "./yaml.ts";

/** What a deployment gets: the newest version of each prompt, or those that are pinned. */
export type Target = "latest" | "pinned";

/** A manifest. Each member has a default, so that a folder of prompts needs none. */
export type Manifest = {
  /** The workspace by its id or name. */
  workspace?: string | undefined;
  /** Where the prompts are, beside the manifest. By default `prompts`, or where the manifest is if there is no such folder. */
  folder?: string | undefined;
  /** What goes to the deployments of each prompt, by their names. */
  deploy: ReadonlyMap<string, Target>;
  /** The versions of prompts, by the name of a deployment and that of a prompt. */
  pinned: ReadonlyMap<string, ReadonlyMap<string, number>>;
};

export const manifestName = "promptledger.yml";

export const defaultManifest: Manifest = { deploy: new Map(), pinned: new Map() };

const members = ["workspace", "folder", "deploy", "pinned"];

/** Reads a manifest. Returns undefined if it reported a fault. */
export function readManifest(source: string, report: Report): Manifest | undefined {
  const yaml = readYaml(source, 0, report);
  if (yaml === undefined) return undefined;
  const { text, mapping, offsetOf, refuseOthers, isGood } = readMembersOf(yaml.members, report);
  refuseOthers(members);
  let isFine = true;
  const refuse = (name: string, message: string) => {
    report(offsetOf(name), message);
    isFine = false;
  };
  const entriesOf = (name: string) => Object.entries(JSON.parse(mapping(name) ?? "{}") as Record<string, unknown>);

  const folder = text("folder");
  if (folder !== undefined && /^([/\\]|[a-z]:)|(^|[/\\])\.\.([/\\]|$)/i.test(folder)) {
    refuse("folder", "Field folder must be a folder beside the manifest");
  }
  const deploy = new Map<string, Target>();
  for (const [name, target] of entriesOf("deploy")) {
    if (!deploymentName.is(name)) {
      refuse("deploy", `Field deploy.${name} must name a deployment: ${deploymentName.type}`);
    } else if (target !== "latest" && target !== "pinned") {
      refuse("deploy", `Field deploy.${name} must be latest or pinned`);
    } else deploy.set(name, target);
  }
  const pinned = new Map<string, Map<string, number>>();
  for (const [name, versions] of entriesOf("pinned")) {
    if (deploy.get(name) !== "pinned") refuse("pinned", `Field pinned.${name} needs deploy.${name}: pinned`);
    else if (typeof versions !== "object" || versions === null) {
      refuse("pinned", `Field pinned.${name} must be a mapping of prompts to versions`);
    } else pinned.set(name, readVersions(`pinned.${name}`, versions, (message) => refuse("pinned", message)));
  }
  return isGood() && isFine ? { workspace: text("workspace"), folder, deploy, pinned } : undefined;
}

function readVersions(path: string, versions: object, refuse: (message: string) => void): Map<string, number> {
  const read = new Map<string, number>();
  for (const [name, version] of Object.entries(versions)) {
    if (!promptName.is(name)) refuse(`Field ${path} must name prompts, not ${name}`);
    else if (!isCount(version) || version < 1) refuse(`Field ${path}.${name} must be a version: an integer from 1`);
    else read.set(name, version);
  }
  return read;
}

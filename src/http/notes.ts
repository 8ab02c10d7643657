// What the log tells of a request besides its answer. Ids only: never a key, a body or a prompt.

export type Notes = {
  workspaceId?: string;
  keyId?: string;
  deployId?: string;
  /** How many requests shared the transaction. */
  groupSize?: number;
};

const nouns: Record<string, "workspaceId" | "keyId" | "deployId"> = {
  ws: "workspaceId",
  key: "keyId",
  dep: "deployId",
};

/** Notes an id that a client named, if it has the form of ours; another text might be a secret. */
export function noteId(notes: Notes, id: string): void {
  const [, prefix] = /^(ws|key|dep)_[0-9a-z]{26}$/.exec(id) ?? [];
  if (prefix !== undefined) notes[nouns[prefix]!] = id;
}

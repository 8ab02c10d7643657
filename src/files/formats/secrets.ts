// Finds texts that look like secrets, which have no place in a repository.

const shapes: [name: string, pattern: RegExp][] = [
  ["an API key or a token of promptledger", /\bplm?_[0-9A-Za-z]{49}\b/],
  ["a key of OpenAI or Anthropic", /\bsk-(?:ant-|proj-|svcacct-)?[0-9A-Za-z_-]{20,}/],
  ["a key of Google", /\bAIza[0-9A-Za-z_-]{35}\b/],
  ["a key of AWS", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["a token of GitHub", /\b(?:gh[pousr]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{60,})/],
  ["a token of GitLab", /\bglpat-[0-9A-Za-z_-]{20,}/],
  ["a token of Slack", /\bxox[abprs]-[0-9A-Za-z-]{10,}/],
  ["a key of Stripe", /\b[rs]k_(?:live|test)_[0-9A-Za-z]{20,}/],
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
];

/** The secrets in a text: the kind and the offset of each, without its text. */
export const findSecrets = (text: string): { name: string; offset: number }[] =>
  shapes.flatMap(([name, pattern]) =>
    Array.from(text.matchAll(new RegExp(pattern, "g")), ({ index }) => ({ name, offset: index }))
  );

/** A text with `…` in the place of each secret. */
export const maskSecrets = (text: string): string =>
  shapes.reduce((masked, [, pattern]) => masked.replace(new RegExp(pattern, "g"), "…"), text);

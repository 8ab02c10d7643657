// Providers by their names in applications, SDKs and conventions, and the models that they make.

type Provider = {
  /** Other names, folded to letters and digits. */
  aliases: string;
  /** The models that it makes, by the start of their names. */
  makes?: RegExp;
};

/** By the ids of `@pydantic/genai-prices`, which `price import` reads. */
const providers: Record<string, Provider> = {
  anthropic: { aliases: "claude", makes: /^claude-/ },
  aws: { aliases: "bedrock amazonbedrock awsbedrock bedrockconverse amazon" },
  azure: { aliases: "azureopenai azureaiopenai azureai azureaiinference azurefoundry microsoft" },
  cerebras: { aliases: "cerebrasai" },
  cloudflare: { aliases: "workersai cloudflareworkersai" },
  cohere: { aliases: "cohereai coherechat", makes: /^command-/ },
  deepseek: { aliases: "deepseekai", makes: /^deepseek-/ },
  fireworks: { aliases: "fireworksai" },
  google: {
    aliases: "gemini googleai googlegenai googlegenerativeai googlevertex googlevertexai vertex vertexai gcpgemini " +
      "gcpvertexai gcpgenai gcp",
    makes: /^gem(ini|ma)-/,
  },
  groq: { aliases: "groqcloud" },
  mistral: { aliases: "mistralai", makes: /^(open-)?(mi[sx]tral|codestral|devstral|magistral|ministral|pixtral)-/ },
  moonshotai: { aliases: "moonshot kimi", makes: /^(kimi|moonshot)-/ },
  openai: { aliases: "openaichat openairesponses", makes: /^(gpt|chatgpt|o\d|codex|text-embedding)-|^o\d$/ },
  openrouter: { aliases: "openrouterai" },
  perplexity: { aliases: "perplexityai pplx", makes: /^sonar(-|$)/ },
  together: { aliases: "togetherai" },
  "x-ai": { aliases: "xai grok", makes: /^grok-/ },
};

const ids = new Map(
  Object.entries(providers).flatMap(([id, { aliases }]) =>
    [fold(id), ...aliases.split(" ")].map((name) => [name, id] as const)
  ),
);

function fold(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, "");
}

/** The id of a provider. AI SDK appends its API to a name: `openai.responses`. An unknown name is its own id. */
export function providerOf(name: string): string {
  return ids.get(fold(name)) ?? ids.get(fold(name.replace(/\..*$/s, ""))) ?? name.toLowerCase();
}

/** The provider that makes a model, according to its name. Empty if unknown. */
export const makerOf = (model: string): string =>
  Object.entries(providers).find(([, { makes }]) => makes?.test(model.toLowerCase()))?.[0] ?? "";

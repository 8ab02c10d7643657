// Generated from src/schema/ by `npm run generate`: the bodies of requests and responses.

/** A submit's body, and what its query and headers say. */
export type DiagnosisItem = {
  /** The id of a deployment, or its reference NAME@DEPLOYMENT. */
  deployId: string;
  /** What Idempotency-Key is to a single submit. */
  idempotencyKey?: string | undefined;
  /** The client's name for the session. */
  sessionId: string;
  /** A code whose meaning is the client's. */
  status: number;
  content: {
    /** What the model was given. */
    input?: string | undefined;
    /** What it answered. */
    output?: string | undefined;
    [member: string]: unknown;
  };
  /** How long the model took, in milliseconds. */
  latency?: number | undefined;
  /** When the session began, in Unix milliseconds. */
  startAt?: number | undefined;
  /** When the session ended, in Unix milliseconds. */
  endAt?: number | undefined;
  /** Any JSON, kept as it is sent, such as a trace's id and the numbers of tokens. */
  additional_properties?: Record<string, unknown> | undefined;
  /** The version that was read, `deploy.currentVersion`; the live one unless given. */
  promptVersion?: number | undefined;
  [member: string]: unknown;
};

export type DiagnosisResponse = {
  /** The id of the record. */
  id: string;
  status: "success";
  message: string;
};

export type DiagnosisResults = {
  results: {
    /** What a single submit is answered with: 201, or why it was refused. */
    status: number;
    /** The id of the record, where it is stored. */
    id?: string | undefined;
    /** Why it was refused, for people. */
    error?: string | undefined;
    /** Why it was refused, for programs. */
    code?: string | undefined;
  }[];
};

/** A message of a prompt. Further members are kept and served. */
export type Message = {
  /** Who says it, such as system or user. */
  role: string;
  /** A text, or parts as the model's provider has them. */
  content: string | Record<string, unknown>[];
  [member: string]: unknown;
};

export type RateLimitErrorResponse = {
  /** Why the request was refused, for people. */
  error: string;
  details: {
    /** Accepted requests that the workspace has a month. */
    limit: number;
    /** Accepted requests of this month. */
    used: number;
    /** When the next month begins, in Unix seconds. */
    resetTime: number;
    /** Where a higher limit is to be had; null where nowhere. */
    upgradeUrl: string | null;
  };
};

export type Revisions = {
  /** The deployments of the key's workspace by their ids, but for archived ones. */
  deployments: Record<string, {
    /** The name of its prompt, `@` and its own name. */
    reference: string;
    /** How often it has changed. */
    revision: number;
    /** The version of the prompt that is live. */
    version: number;
    /** Whether it is open to requests. */
    isActive: boolean;
  }>;
};

/** The active prompt of a deployment. */
export type ServedPrompt = {
  id: string;
  title: string;
  description: string;
  /** In the order in which the model is to have them. */
  messages: Message[];
  deploy: {
    id: string;
    name: string;
    /** The version of the prompt that is served. */
    currentVersion: number;
    /** Always true: no other deployment is served. */
    isActive: boolean;
  };
  workspace: {
    id: string;
    name: string;
  };
  /** Any JSON, kept as it is sent; by convention provider, model, temperature and their like. */
  llmConfig: Record<string, unknown>;
};

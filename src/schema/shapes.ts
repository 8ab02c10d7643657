// Generated from src/schema/ by `npm run generate`: the bodies of requests and responses.

/** The body of a submit, with its query parameter and header as members. */
export type DiagnosisItem = {
  /** The id of a deployment, or its reference NAME@DEPLOYMENT. */
  deployId: string;
  /** The Idempotency-Key header of a single submit. */
  idempotencyKey?: string | undefined;
  /** The client's name for the session. */
  sessionId: string;
  /** A code whose meaning the client defines. */
  status: number;
  content: {
    /** The model's input. */
    input?: string | undefined;
    /** The model's output. */
    output?: string | undefined;
    [member: string]: unknown;
  };
  /** How long the model took, in milliseconds. */
  latency?: number | undefined;
  /** When the session began, in Unix milliseconds. */
  startAt?: number | undefined;
  /** When the session ended, in Unix milliseconds. */
  endAt?: number | undefined;
  /** Any JSON object, stored as sent, such as a trace id and token counts. */
  additional_properties?: Record<string, unknown> | undefined;
  /** The version that was used, from `deploy.currentVersion`. The default is the live one. */
  promptVersion?: number | undefined;
  /** The id of the rollout that chose `promptVersion`. */
  rollout?: string | undefined;
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
    /** The status that a single submit would get: 201, or that of the error. */
    status: number;
    /** The id of the record, if it is stored. */
    id?: string | undefined;
    /** Why it was refused, for people. */
    error?: string | undefined;
    /** Why it was refused, for programs. */
    code?: string | undefined;
  }[];
};

export type FeedbackItem = {
  /** As for a single record. Null withdraws what was given. */
  value: boolean | number | string | null;
  /** The reason, in words. */
  comment?: string | undefined;
  /** The application's own name for whoever gives it. Default: empty, one voice for the record. */
  author?: string | undefined;
  /** Who gives it. */
  source?: "user" | "reviewer" | "program" | undefined;
  /** The record's id, or the Idempotency-Key that it is sent under. */
  record?: string | undefined;
  /** In place of a record: the newest one of this session in `deployId`. */
  sessionId?: string | undefined;
  /** With `sessionId`: the deployment, by its id or as NAME@DEPLOYMENT. */
  deployId?: string | undefined;
  /** The name of the feedback. */
  name: string;
};

export type FeedbackResults = {
  results: {
    /** The status that a single request would get. */
    status: number;
    /** The record, or null while the feedback waits for it. */
    recordId?: string | null | undefined;
    /** Whether anything was written. */
    isChanged?: boolean | undefined;
    /** Why it was refused, for people. */
    error?: string | undefined;
    /** Why it was refused, for programs. */
    code?: string | undefined;
    /** The path of the member at fault, if one is. */
    field?: string | undefined;
    /** The values that it may have. */
    expected?: string | undefined;
  }[];
};

/** A message of a prompt. Further members are stored and served. */
export type Message = {
  /** The role of its author, such as system or user. */
  role: string;
  /** A text, or parts in the format of the model's provider. */
  content: string | Record<string, unknown>[];
  [member: string]: unknown;
};

export type RateLimitErrorResponse = {
  /** Why the request was refused, for people. */
  error: string;
  details: {
    /** The workspace's limit of accepted requests per month. */
    limit: number;
    /** Requests accepted this month. */
    used: number;
    /** When the next month begins, in Unix seconds. */
    resetTime: number;
    /** Where to get a higher limit, or null. */
    upgradeUrl: string | null;
  };
};

export type Revisions = {
  /** The deployments of the key's workspace by id, except archived ones. */
  deployments: Record<string, {
    /** The names of its prompt and its own, as `NAME@DEPLOYMENT`. */
    reference: string;
    /** How often it has changed. */
    revision: number;
    /** The version of the prompt that is live. */
    version: number;
    /** Whether it accepts requests. */
    isActive: boolean;
    /** The rollout in progress, or null. */
    rollout: {
      id: string;
      /** The share of the keys that gets the candidate. */
      percent: number;
    } | null;
  }>;
};

/** The active prompt of a deployment. */
export type ServedPrompt = {
  id: string;
  title: string;
  description: string;
  /** In the order in which the model gets them. */
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
  /** Any JSON object, stored as sent. By convention it has provider, model, temperature and so on. */
  llmConfig: Record<string, unknown>;
  /** The rollout in progress, if the request has `Accept-Rollout: 1`. With a `key` instead, whether the candidate was picked. */
  rollout?: ServedRollout | {
    /** The id of the rollout, to be sent as `rollout` with records. */
    id: string;
    /** Whether the prompt is the candidate and not the live version. */
    isCandidate: boolean;
  } | undefined;
};

export type ServedRollout = {
  /** The id of the rollout, to be sent as `rollout` with records. */
  id: string;
  /** The candidate. */
  version: number;
  /** The share of the keys that gets the candidate, in steps of 0.1 %. */
  percent: number;
  /** A key gets the candidate if the first 48 bits of SHA-256 over `DEPLOYMENT.SALT.KEY`, as an integer, are less than 2^48 * percent / 100. */
  salt: string;
  /** The candidate, with the members of the prompt. */
  prompt: {
    id: string;
    title: string;
    description: string;
    /** In the order in which the model gets them. */
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
    /** Any JSON object, stored as sent. By convention it has provider, model, temperature and so on. */
    llmConfig: Record<string, unknown>;
  };
};

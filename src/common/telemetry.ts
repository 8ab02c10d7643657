// All metrics of a service, by name.
import { createMetrics } from "./metrics.ts";
import type { Counter, Histogram, Metrics } from "./metrics.ts";

export type Telemetry = {
  metrics: Metrics;
  /** Requests answered, by method, route and status. */
  requests: Counter;
  /** Seconds from a request to its response, by method and route. */
  requestSeconds: Histogram;
  /** Requests refused because the workspace's quota was exhausted. */
  quotaRefusals: Counter;
  /** Requests per transaction. */
  groupSize: Histogram;
  /** Seconds that the transaction of a group took, including the round trip. */
  commitSeconds: Histogram;
  /** Database operations that failed, by `failureOf`. */
  databaseErrors(failure: string | undefined): void;
};

// Dashboards depend on these values of the label `kind`.
const errorKinds: Record<string, string> = {
  retryable: "blocked",
  indeterminate: "unknown",
  rejected: "refused",
  unavailable: "unavailable",
};

const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const powersOfTwo = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/** Creates the metrics of a service. */
export function createTelemetry(): Telemetry {
  const metrics = createMetrics();
  const { counter, histogram } = metrics;
  const databaseErrors = counter(
    "promptledger_database_errors_total",
    "Failed database operations",
    ["kind"],
    ["blocked", "unknown", "refused", "other"],
  );
  return {
    metrics,
    requests: counter("promptledger_http_requests_total", "Requests answered", ["method", "route", "status"]),
    requestSeconds: histogram(
      "promptledger_http_request_duration_seconds",
      "Time to a response, without a streamed body",
      seconds,
      ["method", "route"],
    ),
    quotaRefusals: counter("promptledger_quota_refusals_total", "Requests refused because the quota was exhausted"),
    groupSize: histogram("promptledger_group_size", "Requests that shared a transaction", powersOfTwo),
    commitSeconds: histogram(
      "promptledger_commit_duration_seconds",
      "Time of a group's transaction",
      [0.0001, 0.00025, 0.0005, ...seconds],
    ),
    databaseErrors: (failure) => databaseErrors(errorKinds[failure ?? ""] ?? "other"),
  };
}

// Metrics of the process, under the names that Prometheus uses.
import process from "node:process";
import type { Metrics } from "../../common/metrics.ts";

const interval = 100; // ms between two measurements of the event loop's lag

/** Adds memory, CPU time and the lag of the event loop, which serves all requests. */
export function measureProcess({ gauge, histogram }: Metrics): void {
  gauge("process_resident_memory_bytes", "Memory of the process", () => process.memoryUsage().rss);
  const cpuSeconds = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  };
  gauge("process_cpu_seconds_total", "CPU time that the process has used", cpuSeconds, "counter");
  const startedAt = Date.now() / 1000 - process.uptime();
  gauge("process_start_time_seconds", "When the process started, in Unix seconds", () => startedAt);

  const lag = histogram("promptledger_event_loop_lag_seconds", "How late a timer of the event loop is", [
    ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
  ]);
  let due = performance.now() + interval;
  setInterval(() => {
    lag(Math.max(0, performance.now() - due) / 1000);
    due = performance.now() + interval;
  }, interval).unref();
}

-- One request over and over, as the environment says; prints what came of it as JSON.
wrk.method = os.getenv("BENCH_METHOD")
wrk.body = os.getenv("BENCH_BODY")
wrk.headers["Authorization"] = os.getenv("BENCH_AUTHORIZATION")
wrk.headers["Content-Type"] = "application/json"

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end

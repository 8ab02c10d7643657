-- Sends the requests that the environment lists, in turn and repeatedly, and prints a summary as JSON. BENCH_CALLS has a line
-- `METHOD PATH KEY IDEMPOTENCY-KEY` for each, with `-` for none. BENCH_BODY is the body of each POST.
local requests = {}
local turn = 0

function init()
  for method, path, key, idempotency in os.getenv("BENCH_CALLS"):gmatch("(%S+) (%S+) (%S+) (%S+)") do
    local headers = { ["Host"] = wrk.headers["Host"], ["Authorization"] = "Bearer " .. key }
    if method == "POST" then headers["Content-Type"] = "application/json" end
    if idempotency ~= "-" then headers["Idempotency-Key"] = idempotency end
    requests[#requests + 1] = wrk.format(method, path, headers, method == "POST" and os.getenv("BENCH_BODY") or nil)
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%f,"p50":%f,"p99":%f,"failed":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status + errors.connect + errors.read + errors.write + errors.timeout
  ))
end

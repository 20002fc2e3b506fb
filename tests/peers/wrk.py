"""Load by wrk: the same requests, sent by the same client, whatever the format of their bodies."""
import json
import subprocess
import tempfile
from pathlib import Path

# The connections take turns with the bodies, so that a batch has rows of several inputs.
SCRIPT = """
local requests, next_one = {{}}, 0
function init(args)
  for i = 1, {bodies} do
    local file = io.open("{folder}/" .. i, "rb")
    requests[i] = wrk.format("POST", nil, {{["Content-Type"] = "application/json"}}, file:read("*a"))
    file:close()
  end
end
function request()
  next_one = next_one % #requests + 1
  return requests[next_one]
end
{delay}
function done(summary, latency, requests)
  local e = summary.errors
  print(string.format('{{"requests": %d, "seconds": %.6f, "p50_ms": %.3f, "p99_ms": %.3f, "errors": %d}}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout))
end
"""


def load(url, bodies, seconds, connections, rate=None):
    """{requests, seconds, p50_ms, p99_ms, errors}. Each connection sends a request when it has the answer to the last
    one; with a rate after a random pause, so that all of them together send at about this rate."""
    pause_ms = round(2000 * connections / rate) if rate else 0
    delay = f"function delay() return math.random(0, {pause_ms}) end" if rate else ""
    with tempfile.TemporaryDirectory() as folder:
        for i, body in enumerate(bodies, 1):
            Path(folder, str(i)).write_text(body)
        script = Path(folder, "load.lua")
        script.write_text(SCRIPT.format(folder=folder, bodies=len(bodies), delay=delay))
        done = subprocess.run(["wrk", "--threads", "1", "--connections", str(connections), "--duration", f"{seconds}s",
                               "--timeout", "10s", "--script", str(script), url], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout.splitlines()[-1])

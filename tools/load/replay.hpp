// `troupe replay`: sends the requests of a trace to an OpenAI-compatible server on schedule (open loop) and
// reports their results over time. `troupe traffic` makes traces.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/workload/llm_traffic.hpp"
#include "policies/workload/trace_statistics.hpp"
#include "tools/load/llm_trace.hpp"
#include "tools/load/tokens.hpp"

namespace troupe {

struct replay_options {
  std::string file;
  std::string url;                    ///< http://HOST:PORT
  std::string simulate = {};          ///< cluster file of a cluster to simulate instead
  std::string model;                  ///< of rows without an adapter
  double time_scale = 1;              ///< factor on the gaps
  double rate_scale = 1;              ///< requests per request of the trace: below one, requests are sampled
  duration from{};                    ///< position in the trace; earlier rows are not sent
  duration length = duration::max();  ///< of the trace
  uint64_t requests = UINT64_MAX;     ///< at most this many
  uint32_t max_prompt = UINT32_MAX;   ///< longer prompts are cut
  uint32_t max_output = UINT32_MAX;
  uint32_t token_bound = 256;  ///< prompts are token ids below this
  completion_slo slo;          ///< objectives for goodput; a row's own TTFT target overrides `ttft`
  uint64_t seed = 1;
  uint32_t max_connections = 4096;
  duration timeout = 60s;
  duration interval = 1s;                     ///< of the series
  std::string json_file = {}, csv_file = {};  ///< the whole report; the series
  bool json = false;                          ///< to standard output instead of a table
  std::string key_file = {};                  ///< API key; empty: the environment's TROUPE_API_KEY, or none
  std::map<std::string, std::string> tenant_keys = {};  ///< key files of the trace's tenants, by name
};

/// What happened in one interval of a replay.
struct replay_interval {
  uint64_t sent = 0, completed = 0, failed = 0;  ///< by when it was due; by when it ended
  uint64_t tokens = 0;                           ///< received
  uint64_t good = 0;                             ///< completed within their objectives
  uint64_t in_flight = 0;                        ///< at its end
  duration_sample ttft;                          ///< of first tokens that came in it
};

struct replay_report {
  std::string_view format;
  uint64_t rows = 0, without_answer = 0;  ///< of the trace
  completion_report all;
  duration interval{};
  std::vector<replay_interval> series;
};

/// The rows to send and their times: after `from`, `length`, both scales and bounds.
std::vector<traced_generation> scaled(std::vector<traced_generation> rows, const replay_options& o);
/// The same for a trace, whose rows are moved out. Throws llm_trace_error or load_error if there is nothing
/// to send, or no model to request.
std::vector<traced_generation> rows_to_send(llm_trace& trace, const replay_options& o);
/// The body of a row's request. Rows with the same first blocks have the same beginning of the prompt.
std::string replay_body(const traced_generation& row, uint64_t index, const replay_options& o);

/// Throws llm_trace_error, or load_error (tools/load/client.hpp).
replay_report replay(const replay_options& o);
/// Sends the same requests to a simulated cluster, which must have one language model, emulated: the same
/// actors, in virtual time.
replay_report replay_simulated(const replay_options& o);

std::string replay_json(const replay_report& r);
std::string replay_csv(const replay_report& r);

/// Replays and prints. Returns 0 if there were answers, 1 if there were none or it could not begin, 2 for an
/// invalid trace, options or inputs.
int run_replay(const replay_options& o);

struct traffic_options {
  llm_traffic_options traffic;
  uint64_t requests = 1000;
  duration length = duration::max();
};
/// Statistics of a trace, in a line.
std::string summary(const trace_statistics::report& r);
/// Prints a trace in Mooncake's format, and its statistics to standard error. Returns 0.
int run_traffic(const traffic_options& o);

}  // namespace troupe

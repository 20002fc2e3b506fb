// `troupe replay`: the requests of a trace, sent to an OpenAI-compatible server when they are due (open
// loop), and what became of them over time. `troupe traffic` makes traces.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policies/workload/llm_traffic.hpp"
#include "tools/load/llm_trace.hpp"
#include "tools/load/tokens.hpp"

namespace troupe {

struct replay_options {
  std::string file;
  std::string url;                    ///< http://HOST:PORT
  std::string simulate = {};          ///< cluster file of a cluster that is simulated instead
  std::string model;                  ///< of rows without an adapter
  double time_scale = 1;              ///< gaps become so many times as long
  double rate_scale = 1;              ///< so many requests for each of the trace: less than one are drawn
  duration from{};                    ///< of the trace; before it nothing is sent
  duration length = duration::max();  ///< of the trace
  uint64_t requests = UINT64_MAX;     ///< so many at most
  uint32_t max_prompt = UINT32_MAX;   ///< longer prompts are cut
  uint32_t max_output = UINT32_MAX;
  uint32_t token_bound = 256;  ///< prompts are token ids below this
  completion_slo slo;          ///< what goodput is held to; a row's own goes before its `ttft`
  uint64_t seed = 1;
  uint32_t max_connections = 4096;
  duration timeout = 60s;
  duration interval = 1s;                     ///< of the series
  std::string json_file = {}, csv_file = {};  ///< all of it; the series
  bool json = false;                          ///< to standard output instead of a table
  std::string key_file = {};                  ///< API key; empty: the environment's TROUPE_API_KEY, or none
  std::map<std::string, std::string> tenant_keys = {};  ///< files of the keys of the trace's tenants, by name
};

/// What happened in one interval of a replay.
struct replay_interval {
  uint64_t sent = 0, completed = 0, failed = 0;  ///< by when it was due; by when it ended
  uint64_t tokens = 0;                           ///< that came
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

/// The rows that are sent, at the times at which they are: by `from`, `length`, both scales and bounds.
std::vector<traced_generation> scaled(std::vector<traced_generation> rows, const replay_options& o);
/// The same of a trace, whose rows are moved away. Throws llm_trace_error or load_error if there is nothing
/// to send, or no model to ask for.
std::vector<traced_generation> rows_to_send(llm_trace& trace, const replay_options& o);
/// The body of the request for a row. Prompts of rows whose blocks begin alike begin alike.
std::string replay_body(const traced_generation& row, uint64_t index, const replay_options& o);

/// Throws llm_trace_error, or load_error (tools/load/client.hpp).
replay_report replay(const replay_options& o);
/// The same requests to the simulated cluster, which must have one language model, emulated: the same actors,
/// in virtual time.
replay_report replay_simulated(const replay_options& o);

std::string replay_json(const replay_report& r);
std::string replay_csv(const replay_report& r);

/// Replays and prints. 0: answers came; 1: none did, or it could not begin; 2: the trace is none, or the
/// options make no sense, or what they name.
int run_replay(const replay_options& o);

struct traffic_options {
  llm_traffic_options traffic;
  uint64_t requests = 1000;
  duration length = duration::max();
};
/// Prints a trace as Mooncake has it. Returns 0.
int run_traffic(const traffic_options& o);

}  // namespace troupe

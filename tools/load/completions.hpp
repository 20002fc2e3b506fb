// `troupe load --completions`: streamed completions from an OpenAI-compatible server, at a rate (open loop:
// requests are sent on schedule, regardless of earlier ones) or with a fixed concurrency (closed loop).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policies/common/distributions.hpp"
#include "tools/load/tokens.hpp"
#include "transport/http/message.hpp"

namespace troupe {

struct completion_load_options {
  std::string url;                         ///< http://HOST:PORT
  std::string model;                       ///< requested if there are no adapters
  std::vector<std::string> adapters = {};  ///< each request asks for one of these
  double zipf = 0;                  ///< the i-th adapter is i^-zipf as popular as the first; 0: uniform
  double rate = 0;                  ///< requests a second, Poisson; 0: by `concurrency`
  uint32_t concurrency = 1;         ///< requests in flight at a time
  duration length = 10s;            ///< no request is sent after it
  uint64_t requests = UINT64_MAX;   ///< no request is sent after this many
  std::string prompt = {};          ///< of every request, unless `prompt_tokens`
  uint32_t prompt_tokens = 0;       ///< this many random token ids a request
  uint32_t token_bound = 256;       ///< exclusive upper bound of the token ids
  uint32_t max_tokens = 64;         ///< of an answer
  completion_slo slo = {};          ///< objectives for goodput
  uint64_t seed = 1;                ///< of arrivals, adapters and prompts, separate for each request
  uint32_t max_connections = 1024;  ///< requests beyond this count as failed
  duration timeout = 60s;           ///< without any data from the server
  bool json = false;
  std::string key_file = {};  ///< API key; empty: the environment's TROUPE_API_KEY, or none
  http_headers headers = {};  ///< with every request
};

/// The requests of a load. They depend on the options alone, not on the times of sending.
class completion_requests {
 public:
  struct request {
    std::string model;
    std::string body;
  };
  explicit completion_requests(const completion_load_options& options);
  request make(uint64_t index) const;

 private:
  const completion_load_options& options_;
  weighted_choice popular_;  // of the adapters
};

/// Runs the load and waits for the last answer. Throws load_error (tools/load/client.hpp).
completion_report measure_completions(const completion_load_options& options);

/// measure_completions, printed. Returns 0 if there were answers, 1 if there were none or it could not begin,
/// 2 for invalid options or inputs.
int run_completion_load(const completion_load_options& options);

}  // namespace troupe

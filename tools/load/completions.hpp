// `troupe load --completions`: streamed completions from an OpenAI-compatible server, at a rate (open loop:
// they leave when they are due, whatever became of the earlier ones) or so many at a time (closed loop).
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
  std::string model;                       ///< asked for if there are no adapters
  std::vector<std::string> adapters = {};  ///< each request asks for one of these
  double zipf = 0;                  ///< the i-th adapter is i^-zipf as popular as the first; 0: all alike
  double rate = 0;                  ///< requests a second, Poisson; 0: by `concurrency`
  uint32_t concurrency = 1;         ///< as many at a time
  duration length = 10s;            ///< after which none is sent any more
  uint64_t requests = UINT64_MAX;   ///< likewise, after so many
  std::string prompt = {};          ///< of every request, unless `prompt_tokens`
  uint32_t prompt_tokens = 0;       ///< random token ids, so many a request
  uint32_t token_bound = 256;       ///< those are below this
  uint32_t max_tokens = 64;         ///< of an answer
  completion_slo slo = {};          ///< what goodput is held to
  uint64_t seed = 1;                ///< of arrivals, adapters and prompts, each request's its own
  uint32_t max_connections = 1024;  ///< what would need more counts as failed
  duration timeout = 60s;           ///< without a sign of the server
  bool json = false;
  std::string key_file = {};  ///< API key; empty: the environment's TROUPE_API_KEY, or none
  http_headers headers = {};  ///< with every request
};

/// The requests of a load: which they are depends on the options alone, not on when they are sent.
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

/// measure_completions, printed. 0: answers came; 1: none did, or it could not begin; 2: the options make no
/// sense, or what they name.
int run_completion_load(const completion_load_options& options);

}  // namespace troupe

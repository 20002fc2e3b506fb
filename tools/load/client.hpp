// `troupe load`: sends a served model the load that it should bear. Open loop: requests leave when they are
// due whatever became of the earlier ones, and latency counts from then.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/workload/arrivals.hpp"
#include "tools/load/report.hpp"
#include "transport/http/message.hpp"

namespace troupe {

struct load_options {
  std::string url;        ///< http://HOST:PORT
  arrival_spec arrivals;  ///< `rate`: requests a second, over all models in equal parts
  duration length = 10s;
  std::vector<std::string> models;  ///< none: all that are served
  uint32_t rows = 1;                ///< a request
  double slo_ms = 0;                ///< told to the server with each request; 0: the model's own counts
  uint64_t seed = 1;                ///< of arrivals and inputs
  std::string input;  ///< file of raw input rows, in the signature's order; empty: random inputs
  uint32_t max_connections = 1024;  ///< what would need more counts as failed
  duration timeout = 30s;           ///< of one request
  bool json = false;
  http_headers headers;  ///< with every request
  std::string key_file;  ///< API key of `run_load`; empty: the environment's TROUPE_API_KEY, or none
  /// Sees every response and its latency from when it was due, on one thread at a time.
  std::function<void(const http_response&, duration)> watch;
};

/// The run cannot begin: the server or a model is not there. `what()` says which, and the fix.
class load_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Nor could it with any server: what it was given is wrong, as a URL that is none, or a file that cannot be
/// read. `what()` names it.
class load_input_error : public load_error {
 public:
  using load_error::load_error;
};

/// 2 for load_input_error and api_key_error (tools/client/http_key.hpp), else 1.
int load_exit_code(const std::runtime_error& e);

/// Runs the load and waits for the last answer. Throws load_error.
load_report measure_load(const load_options& options);

/// measure_load, printed to standard output. 0: answers came; 1: none did, or it could not begin; 2: the
/// options make no sense, or what they name.
int run_load(const load_options& options);

}  // namespace troupe

// `troupe load`: sends load to a served model. Open loop: requests are sent on schedule, regardless of
// earlier ones, and latency counts from the scheduled time.
#pragma once
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "messages/tensor/model_inputs.hpp"
#include "policies/workload/arrivals.hpp"
#include "tools/load/report.hpp"
#include "transport/http/message.hpp"

namespace troupe {

struct load_options {
  std::string url;        ///< http://HOST:PORT
  arrival_spec arrivals;  ///< `rate`: requests a second, split evenly over all models
  duration length = 10s;
  std::vector<std::string> models;  ///< empty: all served models
  uint32_t rows = 1;                ///< per request
  std::vector<input_shape> shapes;  ///< of inputs with free dimensions: of a row
  double slo_ms = 0;                ///< sent to the server with each request; 0: the model's own
  uint64_t seed = 1;                ///< of arrivals and inputs
  std::string input;  ///< file of raw input rows, in the signature's order, or of one BYTES element; empty:
                      ///< random inputs
  uint32_t max_connections = 1024;  ///< requests beyond this count as failed
  duration timeout = 30s;           ///< of one request
  bool json = false;
  http_headers headers;  ///< with every request
  std::string key_file;  ///< API key of `run_load`; empty: the environment's TROUPE_API_KEY, or none
  /// Called with every response and its latency since its scheduled time, by one thread at a time.
  std::function<void(const http_response&, duration)> watch;
};

/// The run cannot begin: the server or a model is missing. `what()` names it and the fix.
class load_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An input is invalid, such as a URL or a file that cannot be read. `what()` names it.
class load_input_error : public load_error {
 public:
  using load_error::load_error;
};

/// 2 for load_input_error and api_key_error (tools/client/http_key.hpp), else 1.
int load_exit_code(const std::runtime_error& e);

/// Runs the load and waits for the last answer. Throws load_error.
load_report measure_load(const load_options& options);

/// measure_load, printed to standard output. Returns 0 if there were answers, 1 if there were none or it
/// could not begin, 2 for invalid options or inputs.
int run_load(const load_options& options);

}  // namespace troupe

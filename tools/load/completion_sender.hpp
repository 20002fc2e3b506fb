// Sends streamed completions to an OpenAI-compatible server and records the times of their tokens. For
// `troupe load --completions` and `troupe replay`.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "messages/common/time.hpp"
#include "tools/client/http_client.hpp"
#include "tools/load/tokens.hpp"

namespace troupe {

/// The result of a completion, reported once.
struct completion_end {
  const std::string& model;  ///< the requested model
  const completion_times& times;
  std::string error;  ///< why it counts as failed: a status, or an error of the connection; empty: complete
};

class completion_sender {
 public:
  struct options {
    std::string url;  ///< http://HOST:PORT
    http_headers headers;
    uint32_t max_connections = 1024;  ///< requests beyond this count as failed
    duration timeout = 60s;           ///< without any data from the server
  };
  struct call {
    std::string model;
    std::string body;  ///< of POST /v1/completions, with "stream"
    http_headers headers = {};
    std::optional<duration> ttft_target = {};  ///< as in `completion_times`
  };
  using ended = std::function<void(const completion_end&)>;

  /// `on_ended` is called on the client's thread, one call at a time. Throws load_input_error if the URL is
  /// invalid.
  completion_sender(options o, ended on_ended);
  /// Waits for the requests in flight.
  ~completion_sender();

  /// `at`: its scheduled time, from which its times count.
  void send(call c, time_point at);
  size_t in_flight() const;
  /// Waits until fewer than `limit` are in flight.
  void wait_below(size_t limit);
  time_point now() const { return clock_.now(); }

 private:
  struct pending;
  void end(pending& p, const std::string& error);

  const options options_;
  const ended on_ended_;
  const machine_clock clock_;
  std::string path_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t in_flight_ = 0;
  std::unique_ptr<http_client> client_;  // last: its thread uses the others
};

}  // namespace troupe

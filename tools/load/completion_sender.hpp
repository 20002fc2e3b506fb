// Streamed completions on their way to an OpenAI-compatible server, each with the times of its tokens. For
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

/// What `completion_sender` tells of a completion, once.
struct completion_end {
  const std::string& model;  ///< that was asked for
  const completion_times& times;
  std::string
      error;  ///< why it counts as failed: a status, or what became of the connection; empty: complete
};

class completion_sender {
 public:
  struct options {
    std::string url;  ///< http://HOST:PORT
    http_headers headers;
    uint32_t max_connections = 1024;  ///< what would need more counts as failed
    duration timeout = 60s;           ///< without a sign of the server
  };
  struct call {
    std::string model;
    std::string body;  ///< of POST /v1/completions, with "stream"
    http_headers headers = {};
    std::optional<duration> ttft_target = {};  ///< as in `completion_times`
  };
  using ended = std::function<void(const completion_end&)>;

  /// `told` is called on the client's thread, one call at a time. Throws load_input_error if the URL is none.
  completion_sender(options o, ended on_ended);
  /// Waits for what is on its way.
  ~completion_sender();

  /// `at`: when it was due, from which its times count.
  void send(call c, time_point at);
  size_t in_flight() const;
  /// Until fewer than `most` are on their way.
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

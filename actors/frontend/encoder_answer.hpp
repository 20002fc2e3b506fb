// encoder_answer collects the numbers of the texts of one HTTP request, each of which is a tensor request, and
// sends the answer when all of them have ended. Thread-safe.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/common/outcome.hpp"
#include "transport/http/message.hpp"

namespace troupe {

class encoder_answer {
 public:
  /// Writes the body, on the connection's thread.
  using format = std::function<std::string(std::vector<std::vector<float>>)>;

  encoder_answer(http_reply reply, size_t texts, format f);

  http_reply& reply() { return reply_; }
  /// The outcome of a text: each once. One that is not finished decides the answer.
  void take(size_t text, const outcome& how);

 private:
  http_reply reply_;
  format format_;
  std::vector<std::vector<float>> numbers_;
  std::mutex mutex_;
  size_t waiting_;
  std::optional<http_response> refusal_;  ///< of the first text that was not finished
};

}  // namespace troupe

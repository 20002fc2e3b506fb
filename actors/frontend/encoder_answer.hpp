// encoder_answer collects the numbers of the texts of one HTTP request, each of which is a tensor request,
// and sends the answer. Thread-safe.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "actors/common/outcome.hpp"
#include "messages/common/ids.hpp"
#include "transport/http/message.hpp"

namespace troupe {

class encoder_answer {
 public:
  /// Writes the body, on the connection's thread.
  using format = std::function<std::string(std::vector<std::vector<float>>)>;

  /// `id`: of the first text's request, for `troupe why`. `width`: numbers of each text. `give_up`: called
  /// once, on the thread of `take`, if the answer is sent before all texts have ended.
  encoder_answer(http_reply reply, request_id id, size_t texts, size_t width, format f,
                 std::function<void()> give_up);

  http_reply& reply() { return reply_; }
  /// The outcome of a text: each once. The first one without `width` finite numbers is the answer.
  void take(size_t text, const outcome& how);

 private:
  void refuse(http_response why);

  http_reply reply_;
  const request_id id_;
  const size_t width_;
  format format_;
  const std::function<void()> give_up_;
  std::mutex mutex_;  // guards all below
  std::vector<std::vector<float>> numbers_;
  size_t waiting_;
  bool refused_ = false;
};

}  // namespace troupe

#include "actors/frontend/encoder_answer.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "actors/frontend/completion_answer.hpp"

namespace troupe {
namespace {

class body_writer final : public response_writer {
 public:
  body_writer(std::vector<std::vector<float>> numbers, encoder_answer::format f)
      : numbers_(std::move(numbers)), format_(std::move(f)) {}
  http_response write() override {
    http_response r;
    r.body = format_(std::move(numbers_));
    return r;
  }

 private:
  std::vector<std::vector<float>> numbers_;
  const encoder_answer::format format_;
};

}  // namespace

encoder_answer::encoder_answer(http_reply reply, size_t texts, format f)
    : reply_(std::move(reply)), format_(std::move(f)), numbers_(texts), waiting_(texts) {}

void encoder_answer::take(size_t text, const outcome& how) {
  std::unique_lock lock(mutex_);
  if (how.kind == outcome_kind::finished) {
    auto& n = numbers_[text];
    n.resize(how.output.size() / sizeof(float));
    std::memcpy(n.data(), how.output.data(), n.size() * sizeof(float));
  } else if (!refusal_) {
    refusal_ = openai::error_response(completion_refusal(how), how.retry_after);
  }
  if (--waiting_ > 0) return;
  lock.unlock();
  if (refusal_) return reply_.send(std::move(*refusal_));
  reply_.send(std::make_unique<body_writer>(std::move(numbers_), std::move(format_)));
}

}  // namespace troupe

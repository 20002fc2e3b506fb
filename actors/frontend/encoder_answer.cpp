#include "actors/frontend/encoder_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "actors/frontend/completion_answer.hpp"
#include "actors/frontend/http_clients.hpp"

namespace troupe {
namespace {

class body_writer final : public response_writer {
 public:
  body_writer(request_id id, std::vector<std::vector<float>> numbers, encoder_answer::format f)
      : id_(id), numbers_(std::move(numbers)), format_(std::move(f)) {}
  http_response write() override {
    http_response r;
    r.headers.add(request_id_header, std::to_string(id_.value));
    r.body = format_(std::move(numbers_));
    return r;
  }

 private:
  const request_id id_;
  std::vector<std::vector<float>> numbers_;
  const encoder_answer::format format_;
};

/// Why the numbers of a text are no answer; empty: they are one.
std::string problem_of_numbers(const std::vector<float>& n, size_t width) {
  if (n.size() != width)
    return fmt::format(
        "the model's answer to a text has {} numbers instead of {}: do the files of all "
        "nodes agree?",
        n.size(), width);
  if (std::ranges::all_of(n, [](float x) { return std::isfinite(x); })) return {};
  return "the model's numbers are not finite";
}

}  // namespace

encoder_answer::encoder_answer(http_reply reply, request_id id, size_t texts, size_t width, format f,
                               std::function<void()> give_up)
    : reply_(std::move(reply)),
      id_(id),
      width_(width),
      format_(std::move(f)),
      give_up_(std::move(give_up)),
      numbers_(texts),
      waiting_(texts) {}

void encoder_answer::take(size_t text, const outcome& how) {
  std::unique_lock lock(mutex_);
  --waiting_;
  if (refused_) return;
  std::vector<float> n(how.output.size() / sizeof(float));
  if (!n.empty()) std::memcpy(n.data(), how.output.data(), n.size() * sizeof(float));
  const bool finished = how.kind == outcome_kind::finished;
  const auto problem = finished ? problem_of_numbers(n, width_) : std::string();
  if (finished && problem.empty()) {
    numbers_[text] = std::move(n);
    if (waiting_ > 0) return;
    lock.unlock();
    return reply_.send(std::make_unique<body_writer>(id_, std::move(numbers_), std::move(format_)));
  }
  refused_ = true;
  const bool others = waiting_ > 0;
  lock.unlock();
  refuse(finished ? openai::error_response({500, problem, {}, "device_error"})
                  : openai::error_response(completion_refusal(how), how.retry_after));
  if (others) give_up_();
}

void encoder_answer::refuse(http_response why) {
  why.headers.add(request_id_header, std::to_string(id_.value));
  reply_.send(std::move(why));
}

}  // namespace troupe

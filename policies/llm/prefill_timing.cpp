#include "policies/llm/prefill_timing.hpp"

#include "policies/llm/step_forecast.hpp"

namespace troupe::llm {
namespace {

class eager final : public prefill_timing {
 public:
  time_point begin(const prefill_queue&) const override { return long_ago; }
};

class deferred final : public prefill_timing {
 public:
  time_point begin(const prefill_queue& q) const override {
    const bool unknown = q.steps.fixed + q.steps.prefill <= duration{};
    if (q.due == long_ago || unknown || q.waiting >= q.places || q.tokens >= q.chunk) return long_ago;
    const auto whole = prefill_time(q.tokens, q.chunk, q.decodes, q.steps);
    const auto latest = q.due - whole - whole / spare;
    if (q.decodes == 0) return latest;
    // a step that begins now cannot be stopped
    return q.now + q.steps.fixed + q.decodes * q.steps.decode > latest ? long_ago : latest;
  }

 private:
  static constexpr int spare = 5;  // safety factor on the forecast, because steps vary
};

}  // namespace

registry<prefill_timing_factory>& prefill_timings() {
  static registry<prefill_timing_factory> all{
      {"eager", [] { return std::make_unique<eager>(); }},
      {"deferred", [] { return std::make_unique<deferred>(); }},
  };
  return all;
}

}  // namespace troupe::llm

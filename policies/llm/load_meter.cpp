#include "policies/llm/load_meter.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr uint32_t load_buckets = 20;  // of a window

/// Of an engine's report, which may have any value.
double fraction(float reported) { return reported > 0 ? std::min<double>(reported, 1) : 0; }

}  // namespace

load_meter::load_meter(duration window) : window_(window), arrivals_(window / load_buckets, load_buckets) {}

void load_meter::on_route(const route& r, const std::map<request_id, request_router::request>& known,
                          time_point now) {
  for (const auto& asked : r.requests)
    if (asked.at == no_engine && !asked.started && asked.arrival > now - window_ && !known.contains(asked.id))
      arrivals_.count(now, static_cast<uint32_t>(std::min<uint64_t>(asked.tokens, UINT32_MAX)));
}

measured_load load_meter::measure(const request_router& router, time_point now) {
  measured_load out;
  out.arriving_per_s = arrivals_.rate(now).value_or(0);
  const auto waits = router.waiting_load();
  out.waiting_tokens = waits.tokens;
  out.waiting = waits.sequences;
  uint64_t sequences = 0, capacity = 0;
  uint32_t serving = 0, measured = 0;
  step_forecast sum;
  const bool apart = std::ranges::any_of(router.engines(), [](const auto& e) {
    return e.second.up && e.second.said.ready && e.second.prefills();
  });
  out.decode_full = apart && std::ranges::none_of(router.engines(), [](const auto& e) {
                      return e.second.open() && !e.second.prefills() && !e.second.full();
                    });
  for (const auto& [_, e] : router.engines()) {
    if (!e.up) continue;
    const auto& s = e.said;
    out.uncomputed_tokens += s.uncomputed_tokens;
    out.kv_tokens += static_cast<uint64_t>(fraction(s.kv_used) * s.kv_tokens + 0.5);
    out.waiting += s.waiting;
    out.running += s.running;
    if (!s.ready) continue;
    ++serving;
    sequences += s.max_sequences;
    capacity += s.kv_tokens;
    if (s.steps == step_forecast{} || (apart && !e.prefills())) continue;
    ++measured;
    sum = {sum.fixed + s.steps.fixed, sum.decode + s.steps.decode, sum.prefill + s.steps.prefill};
  }
  if (serving > 0) {
    out.max_sequences = static_cast<uint32_t>(sequences / serving);
    out.max_kv_tokens = static_cast<uint32_t>(capacity / serving);
  }
  if (measured > 0) out.steps = {sum.fixed / measured, sum.decode / measured, sum.prefill / measured};
  return out;
}

}  // namespace troupe

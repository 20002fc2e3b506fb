#include "tools/load/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "messages/common/json_text.hpp"
#include "tools/common/per_second.hpp"

namespace troupe {
namespace {

nlohmann::ordered_json describe(const duration_sample& s) {
  return {{"count", s.count()},
          {"mean", to_ms(s.mean())},
          {"p50", to_ms(s.quantile(0.5))},
          {"p90", to_ms(s.quantile(0.9))},
          {"p99", to_ms(s.quantile(0.99))}};
}

std::string row(std::string_view name, const duration_sample& s) {
  return fmt::format("{:<8} {:>9} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", name, s.count(),
                     to_ms(s.mean()), to_ms(s.quantile(0.5)), to_ms(s.quantile(0.9)),
                     to_ms(s.quantile(0.99)));
}

}  // namespace

std::optional<duration> completion_times::ttft() const {
  if (tokens.empty()) return {};
  return tokens.front() - sent;
}

std::optional<duration> completion_times::tpot() const {
  if (tokens.empty() || output_tokens < 2) return {};
  return (tokens.back() - tokens.front()) / static_cast<int64_t>(output_tokens - 1);
}

duration duration_sample::mean() const {
  if (values_.empty()) return {};
  const double sum = std::accumulate(values_.begin(), values_.end(), 0.0, [](double so_far, duration d) {
    return so_far + static_cast<double>(d.count());
  });
  return duration{std::llround(sum / static_cast<double>(values_.size()))};
}

duration duration_sample::quantile(double q) const {
  if (values_.empty()) return {};
  std::sort(values_.begin(), values_.end());
  const double at = q * static_cast<double>(values_.size() - 1);
  const auto low = static_cast<size_t>(at);
  const auto high = std::min(low + 1, values_.size() - 1);
  const double gap = static_cast<double>((values_[high] - values_[low]).count());
  return values_[low] + duration{std::llround((at - static_cast<double>(low)) * gap)};
}

bool completion_slo::met_by(const completion_times& times) const {
  const auto first = times.ttft();
  return first && *first <= times.ttft_target.value_or(ttft) && times.tpot().value_or(duration{}) <= tpot;
}

void completion_report::add(const std::string& model, const completion_times& times) {
  ++completed;
  ++models[model];
  good += slo.met_by(times);
  prompt_tokens += times.prompt_tokens;
  output_tokens += times.output_tokens;
  if (const auto t = times.ttft()) ttft.add(*t);
  if (const auto t = times.tpot()) tpot.add(*t);
  for (size_t i = 1; i < times.tokens.size(); ++i) itl.add(times.tokens[i] - times.tokens[i - 1]);
  e2e.add(times.ended - times.sent);
}

std::string completion_table(const completion_report& r) {
  auto text = fmt::format(
      "{} requests in {:.2f} s: {} completed, {} failed\n"
      "{:.2f} requests/s, {:.2f} within the objectives/s\n"
      "{:.1f} output tokens/s, {:.1f} prompt tokens/s\n\n",
      r.sent, to_seconds(r.length), r.completed, r.sent - r.completed, per_second(r.completed, r.length),
      per_second(r.good, r.length), per_second(r.output_tokens, r.length),
      per_second(r.prompt_tokens, r.length));
  text +=
      fmt::format("{:<8} {:>9} {:>10} {:>10} {:>10} {:>10}\n", "ms", "measured", "mean", "p50", "p90", "p99");
  text += row("TTFT", r.ttft) + row("ITL", r.itl) + row("TPOT", r.tpot) + row("E2E", r.e2e);
  for (const auto& [what, n] : r.errors) text += fmt::format("{} failed: {}\n", n, what);
  if (r.worst_lag > 10ms)
    text += fmt::format("the generator was up to {:.1f} ms late to send; that counts as latency\n",
                        to_ms(r.worst_lag));
  return text;
}

std::string completion_json(const completion_report& r) {
  const auto objective = [](duration d) {
    return d == duration::max() ? nlohmann::ordered_json() : nlohmann::ordered_json(to_ms(d));
  };
  const nlohmann::ordered_json j{{"sent", r.sent},
                                 {"completed", r.completed},
                                 {"good", r.good},
                                 {"failed", r.sent - r.completed},
                                 {"errors", r.errors},
                                 {"models", r.models},
                                 {"prompt_tokens", r.prompt_tokens},
                                 {"output_tokens", r.output_tokens},
                                 {"requests_per_s", per_second(r.completed, r.length)},
                                 {"goodput_per_s", per_second(r.good, r.length)},
                                 {"output_tokens_per_s", per_second(r.output_tokens, r.length)},
                                 {"prompt_tokens_per_s", per_second(r.prompt_tokens, r.length)},
                                 {"ttft_slo_ms", objective(r.slo.ttft)},
                                 {"tpot_slo_ms", objective(r.slo.tpot)},
                                 {"ttft_ms", describe(r.ttft)},
                                 {"itl_ms", describe(r.itl)},
                                 {"tpot_ms", describe(r.tpot)},
                                 {"e2e_ms", describe(r.e2e)},
                                 {"duration_s", to_seconds(r.length)},
                                 {"worst_lag_ms", to_ms(r.worst_lag)}};
  return json_text(j);
}

}  // namespace troupe

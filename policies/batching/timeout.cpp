#include "policies/batching/timeout.hpp"

#include <algorithm>
#include <charconv>

namespace troupe {

std::optional<duration> timeout::wait_of(std::string_view argument, duration slo) {
  if (argument.empty()) return slo / 2;
  double number = 0;
  const auto [rest, error] = std::from_chars(argument.data(), argument.data() + argument.size(), number);
  if (error != std::errc{} || !(number >= 0 && number <= 1e6)) return {};
  const std::string_view unit(rest, static_cast<size_t>(argument.data() + argument.size() - rest));
  if (unit == "%") return duration{static_cast<int64_t>(number / 100 * static_cast<double>(slo.count()))};
  if (unit == "ms") return from_ms(number);
  if (unit == "us") return from_ms(number / 1000);
  return {};
}

time_point timeout::exec_at(const gathered& batch) const {
  const auto& p = parameters();
  if (batch.rows >= p.max_rows) return batch.earliest;
  const auto came = batch.finish_by + p.response - p.slo;
  const auto latest = capped_ ? batch.finish_by - p.margin - p.latency(batch.rows) : never;
  return std::max(batch.earliest, std::min(came + wait_, latest));
}

}  // namespace troupe

#include "tools/load/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "messages/common/json_text.hpp"
#include "tools/common/per_second.hpp"

namespace troupe {
namespace {

double mean_batch(const load_counts& c) {
  return c.batched == 0 ? 0 : static_cast<double>(c.batch_rows) / static_cast<double>(c.batched);
}

nlohmann::ordered_json describe(const load_counts& c, duration length) {
  nlohmann::ordered_json j{{"sent", c.sent},
                           {"finished", c.finished},
                           {"good", c.good},
                           {"dropped", c.dropped},
                           {"failed", c.failed},
                           {"offered_rps", per_second(c.sent, length)},
                           {"goodput_rps", per_second(c.good, length)},
                           {"p50_ms", to_ms(c.latency.quantile(0.5))},
                           {"p99_ms", to_ms(c.latency.quantile(0.99))},
                           {"mean_batch", nullptr},
                           {"drop_reasons", c.reasons},
                           {"failures", c.failures}};
  if (c.batched > 0) j["mean_batch"] = mean_batch(c);
  return j;
}

std::string row(std::string_view name, size_t width, const load_counts& c, duration length) {
  return fmt::format("{:<{}} {:>9} {:>10.1f} {:>12.1f} {:>9.2f} {:>9.2f} {:>7} {:>9} {:>8}\n", name, width,
                     c.sent, per_second(c.sent, length), per_second(c.good, length),
                     to_ms(c.latency.quantile(0.5)), to_ms(c.latency.quantile(0.99)),
                     c.batched > 0 ? fmt::format("{:.1f}", mean_batch(c)) : std::string("-"), c.dropped,
                     c.failed);
}

}  // namespace

void load_counts::merge(const load_counts& other) {
  sent += other.sent;
  finished += other.finished;
  good += other.good;
  dropped += other.dropped;
  failed += other.failed;
  batched += other.batched;
  batch_rows += other.batch_rows;
  latency.merge(other.latency);
  for (const auto& [reason, n] : other.reasons) reasons[reason] += n;
  for (const auto& [message, n] : other.failures) failures[message] += n;
}

load_counts load_report::total() const {
  load_counts sum;
  for (const auto& m : models) sum.merge(m.counts);
  return sum;
}

std::string load_table(const load_report& report) {
  size_t width = 5;
  for (const auto& m : report.models) width = std::max(width, m.name.size());
  auto text =
      fmt::format("{:<{}} {:>9} {:>10} {:>12} {:>9} {:>9} {:>7} {:>9} {:>8}\n", "model", width, "sent",
                  "offered/s", "within SLO/s", "p50 ms", "p99 ms", "batch", "dropped", "failed");
  for (const auto& m : report.models) text += row(m.name, width, m.counts, report.length);
  const auto total = report.total();
  if (report.models.size() > 1) text += row("total", width, total, report.length);
  for (const auto& [reason, n] : total.reasons) text += fmt::format("{} dropped: {}\n", n, reason);
  for (const auto& [message, n] : total.failures) text += fmt::format("{} failed: {}\n", n, message);
  if (report.worst_lag > 10ms)
    text += fmt::format("the generator was up to {:.1f} ms late to send; that counts as latency\n",
                        to_ms(report.worst_lag));
  return text;
}

std::string load_json(const load_report& report) {
  nlohmann::ordered_json j{{"models", nlohmann::ordered_json::object()}};
  for (const auto& m : report.models) {
    j["models"][m.name] = describe(m.counts, report.length);
    if (m.slo_ms > 0) j["models"][m.name]["slo_ms"] = m.slo_ms;
  }
  j["total"] = describe(report.total(), report.length);
  j["duration_s"] = to_seconds(report.length);
  j["worst_lag_ms"] = to_ms(report.worst_lag);
  return json_text(j);
}

}  // namespace troupe

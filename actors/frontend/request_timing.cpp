#include "actors/frontend/request_timing.hpp"

#include <fmt/format.h>

#include <charconv>
#include <iterator>

namespace troupe {
namespace {

constexpr std::array<std::string_view, request_stage_count> stage_names{
    "parse", "gateway", "queue", "order", "inputs", "device", "execute", "complete", "outputs", "format"};
constexpr std::string_view lateness = "late";

/// The milliseconds behind "name;dur=".
std::optional<double> find_ms(std::string_view header, std::string_view name) {
  const auto key = fmt::format("{};dur=", name);
  const auto at = header.find(key);
  if (at == std::string_view::npos) return {};
  const auto text = header.substr(at + key.size());
  double ms = 0;
  const auto ec = std::from_chars(text.data(), text.data() + text.size(), ms).ec;
  return ec == std::errc{} ? std::optional(ms) : std::nullopt;
}

}  // namespace

std::string_view to_string(request_stage s) { return stage_names[static_cast<size_t>(s)]; }

request_timing request_timing_of(const outcome& how, time_point parsed_at, time_point now) {
  const auto& t = how.times;
  const time_point stations[] = {
      how.arrival, parsed_at,    how.accepted_at, t.ordered_at,     t.received_at,
      t.inputs_at, t.started_at, t.finished_at,   how.completed_at, how.arrival + how.latency,
      now};
  static_assert(std::size(stations) == request_stage_count + 1);
  request_timing out;
  for (size_t i = 0; i < request_stage_count; ++i) out.stages[i] = stations[i + 1] - stations[i];
  out.late = t.started_at - t.planned_at;
  return out;
}

std::string to_header(const request_timing& t) {
  std::string out;
  for (size_t i = 0; i < request_stage_count; ++i)
    fmt::format_to(std::back_inserter(out), "{};dur={:.4f}, ", stage_names[i], to_ms(t.stages[i]));
  fmt::format_to(std::back_inserter(out), "{};dur={:.4f}", lateness, to_ms(t.late));
  return out;
}

std::optional<request_timing> parse_request_timing(std::string_view header) {
  request_timing t;
  for (size_t i = 0; i < request_stage_count; ++i) {
    const auto ms = find_ms(header, stage_names[i]);
    if (!ms) return {};
    t.stages[i] = from_ms(*ms);
  }
  const auto late = find_ms(header, lateness);
  if (!late) return {};
  t.late = from_ms(*late);
  return t;
}

}  // namespace troupe

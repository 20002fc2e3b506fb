// The times of streamed completions, as seen by the client, and their metrics. All formulas of `troupe load
// --completions` are here; docs/commands.md states them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

/// One completion that ended.
struct completion_times {
  time_point sent;                 ///< its scheduled time, or when it was handed to its connection
  std::vector<time_point> tokens;  ///< of the events with a token, in order
  time_point ended;                ///< of the last event
  uint64_t prompt_tokens = 0;
  uint64_t output_tokens = 0;
  std::optional<duration> ttft_target = {};  ///< overrides the common objective

  /// Time to first token: the first of `tokens` − sent. Nothing without tokens.
  std::optional<duration> ttft() const;
  /// Time per output token: (last − first of `tokens`) / (output_tokens − 1). Nothing below two tokens.
  std::optional<duration> tpot() const;
};

/// An exact sample of durations.
class duration_sample {
 public:
  void add(duration d) { values_.push_back(d); }
  size_t count() const { return values_.size(); }
  /// 0 if empty, as below.
  duration mean() const;
  /// `q` in [0, 1]; between two values by linear interpolation, as numpy.quantile.
  duration quantile(double q) const;

 private:
  mutable std::vector<duration> values_;  // sorted on demand
};

struct completion_slo {
  duration ttft = duration::max();
  duration tpot = duration::max();
  /// A completion without tokens meets no objective; one with a single token meets any objective on time per
  /// output token.
  bool met_by(const completion_times& times) const;
};

struct completion_report {
  completion_slo slo;
  uint64_t sent = 0;                              ///< each then counts once as completed or in `errors`
  uint64_t completed = 0;                         ///< ended without an error
  uint64_t good = 0;                              ///< of these, within the objectives
  uint64_t prompt_tokens = 0, output_tokens = 0;  ///< of the completed
  std::map<std::string, uint64_t> errors;         ///< by status, or by error of the connection
  std::map<std::string, uint64_t> models;         ///< completed, by requested model
  duration_sample ttft, itl, tpot, e2e;
  duration length{};     ///< from the start to the end of the last answer
  duration worst_lag{};  ///< largest delay of the generator

  void add(const std::string& model, const completion_times& times);
  void add_error(const std::string& what) { ++errors[what]; }
};

std::string completion_table(const completion_report& report);
std::string completion_json(const completion_report& report);

}  // namespace troupe

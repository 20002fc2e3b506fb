#include "policies/workload/trace_statistics.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

void trace_statistics::add(const traced_generation& request) {
  if (requests_ == 0) first_ = last_ = request.at;
  square_gaps_ += std::pow(to_seconds(request.at - last_), 2);
  last_ = request.at;
  const auto in = static_cast<uint64_t>((request.at - first_) / window);
  if (requests_ == 0 || in != window_) {
    window_ = in;
    in_window_ = 0;
    ++occupied_;
  }
  busiest_ = std::max(busiest_, ++in_window_);
  ++requests_;
  ++prompts_[request.prompt_tokens];
  ++outputs_[request.output_tokens];
}

trace_statistics::lengths trace_statistics::lengths_of(const counts& c) const {
  lengths out;
  uint64_t below = 0;
  for (const auto& [length, n] : c) {
    out.mean += length * static_cast<double>(n) / static_cast<double>(requests_);
    if (2 * below <= requests_) out.median = length;
    below += n;
  }
  return out;
}

trace_statistics::report trace_statistics::get() const {
  report out{.requests = requests_,
             .seconds = to_seconds(last_ - first_),
             .prompt = lengths_of(prompts_),
             .output = lengths_of(outputs_)};
  if (requests_ < 2 || out.seconds == 0) return out;
  const auto gaps = static_cast<double>(requests_ - 1), windows = static_cast<double>(window_ + 1);
  const double mean = out.seconds / gaps;
  out.rate = 1 / mean;
  out.gap_cv = std::sqrt(std::max(0.0, square_gaps_ / gaps - mean * mean)) / mean;
  out.empty = 1 - static_cast<double>(occupied_) / windows;
  out.peak = static_cast<double>(busiest_) * windows / static_cast<double>(requests_);
  return out;
}

}  // namespace troupe

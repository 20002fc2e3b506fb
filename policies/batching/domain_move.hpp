// The end of a model's move to another scheduling domain, on the side of its queue.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

/// A model leaves a domain once none of its batches run there any more. The queue then confirms the line of
/// the deployment log (by its revision) that moved the model, once.
class domain_move {
 public:
  void begin(uint64_t revision, uint32_t left_domain) { leaves_.emplace(revision, left_domain); }
  void cancel() { leaves_.reset(); }

  /// The revision to confirm, unless `runs_in(domain)` holds for the domain that is left.
  template <class F>
  std::optional<uint64_t> finish(F&& runs_in) {
    if (!leaves_ || runs_in(leaves_->second)) return {};
    return std::exchange(leaves_, {})->first;
  }

 private:
  std::optional<std::pair<uint64_t, uint32_t>> leaves_;  // revision, domain
};

}  // namespace troupe

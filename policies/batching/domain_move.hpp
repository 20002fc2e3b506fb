// A model's move to another scheduling domain, from the view of its queue.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

/// The move ends when no batch of the model runs in the old domain any more. The queue then confirms, once,
/// the revision of the deployment log that moved the model.
class domain_move {
 public:
  void begin(uint64_t revision, uint32_t left_domain) { leaves_.emplace(revision, left_domain); }
  void cancel() { leaves_.reset(); }

  /// Returns the revision to confirm, unless `runs_in(domain)` holds for the old domain.
  template <class F>
  std::optional<uint64_t> finish(F&& runs_in) {
    if (!leaves_ || runs_in(leaves_->second)) return {};
    const auto revision = leaves_->first;
    leaves_.reset();
    return revision;
  }

 private:
  std::optional<std::pair<uint64_t, uint32_t>> leaves_;  // revision, domain
};

}  // namespace troupe

// Violations of invariants in a run.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe::sim {

/// One violation. `check` names the invariant.
struct violation {
  std::string check;
  std::string what;
  duration at{};  ///< virtual time
};

/// Collects the violations of a run. Keeps the first hundred: later ones are mostly consequences.
class violations {
 public:
  explicit violations(const duration& truth) : truth_(truth) {}
  void add(std::string_view check, std::string what) {
    ++count_;
    if (list_.size() < 100) list_.push_back({std::string(check), std::move(what), truth_});
  }
  const std::vector<violation>& list() const { return list_; }
  size_t count() const { return count_; }

 private:
  const duration& truth_;
  std::vector<violation> list_;
  size_t count_ = 0;
};

}  // namespace troupe::sim

#include "policies/scaling/wanted_files.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

bool wanted_files::assign(model_id model, weights_id files, const std::string& name) {
  auto& w = wanted_[files];
  w.waiting.insert(model);
  if (!w.models.insert(model).second) return false;
  w.name = name;
  w.progress_at = never;
  return true;
}

bool wanted_files::withdraw(model_id model, weights_id files) {
  const auto w = wanted_.find(files);
  if (w == wanted_.end()) return false;
  w->second.models.erase(model);
  w->second.waiting.erase(model);
  if (!w->second.models.empty()) return false;
  wanted_.erase(w);
  return true;
}

wanted_files::settled wanted_files::settle(const state_of_files& state_of, time_point now) {
  settled out;
  for (auto& [files, w] : wanted_) {
    if (w.waiting.empty()) continue;
    const auto state = state_of(files);
    if (state && !state->complete()) {
      auto problem = problem_of(*state, w, now);
      if (problem.empty()) continue;
      out.without.push_back({files, w.name, std::move(problem)});
    }
    std::ranges::copy(std::exchange(w.waiting, {}), std::back_inserter(out.models));
  }
  return out;
}

/// Why the files do not come; empty: they may.
std::string wanted_files::problem_of(const image_state& s, wanting& w, time_point now) const {
  if (!s.problem.empty()) return s.problem;
  if (w.progress_at == never || s.ready != w.chunks || s.filling != w.arrives)
    w.chunks = s.ready, w.arrives = s.filling, w.progress_at = now;
  if (now < w.progress_at + patience_) return {};
  return s.filling ? "its source sends nothing"
                   : "no leader has ordered a copy, or no node can read the files";
}

time_point wanted_files::next_wakeup() const {
  auto next = never;
  for (const auto& [_, w] : wanted_)
    if (!w.waiting.empty() && w.progress_at != never) next = std::min(next, w.progress_at + patience_);
  return next;
}

}  // namespace troupe

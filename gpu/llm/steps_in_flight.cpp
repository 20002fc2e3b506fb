#include "gpu/llm/steps_in_flight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "gpu/common/device_lost.hpp"

namespace troupe::llm {
namespace {

/// Runs `work`, and returns the problem of a step of so many rows; empty: none.
template <class Work>
std::string problem_of(uint32_t rows, const Work& work) {
  try {
    work();
    return {};
  } catch (const device_lost&) {
    throw;
  } catch (const std::bad_alloc&) {
    return fmt::format("a step of {} tokens does not fit into memory", rows);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

void steps_in_flight::begin(step_model& model, const ordered_step& s, uint32_t layers, std::string problem,
                            const std::atomic<bool>& stopping) {
  const auto rows = s.step->rows();
  const auto at = time_.now();
  if (problem.empty())
    problem = problem_of(rows, [&] {
      model.begin(*s.step, s.samplings, s.layers.first, std::min(s.layers.end, layers), s.layers.x);
    });
  if (problem.empty()) return steps_.push_back({rows, at});
  while (!empty())
    if (!finish(model, {}, stopping)) return;
  fail(std::move(problem));
}

bool steps_in_flight::finish(step_model& model, std::vector<chosen_token> room,
                             const std::atomic<bool>& stopping) {
  engine_event e;
  e.what = engine_event::kind::step_done;
  e.chosen = std::move(room);
  e.chosen.clear();
  const auto [rows, started_at] = steps_.front();
  bool whole = true;
  auto problem = problem_of(rows, [&] { whole = model.finish(e.chosen, stopping); });
  const auto from = std::max(started_at, ended_);  // it ran after the one before it
  ended_ = time_.now();
  if (problem.empty() && whole) {
    steps_.pop_front();
    e.took = ended_ - from;
    on_event_(std::move(e));
    return true;
  }
  steps_.clear();
  if (!problem.empty()) fail(std::move(problem));
  return false;
}

void steps_in_flight::fail(std::string problem) {
  engine_event e;
  e.what = engine_event::kind::step_failed;
  e.problem = std::move(problem);
  on_event_(std::move(e));
}

}  // namespace troupe::llm

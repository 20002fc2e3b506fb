// The ways in which engines run a model file of which nobody says how: rows in batches, whole requests, or
// requests with free dimensions.
#pragma once
#include <span>
#include <string>

#include "gpu/common/model_error.hpp"
#include "gpu/device/device.hpp"

namespace troupe {

enum class way_to_run { batches, whole, any_shape };

/// The source, run so.
inline model_source run_as(model_source s, way_to_run way) {
  s.batched = way == way_to_run::batches;
  s.any_shape = way == way_to_run::any_shape;
  if (!s.batched) s.max_batch = 1;
  return s;
}

/// `use(source)` for the first way in which it does not throw model_error. If there is none, throws the
/// model_error of the first way, which is the preferred one. Requires: there are ways.
template <class Use>
auto first_way_that_runs(const model_source& source, std::span<const way_to_run> ways, Use use) {
  std::string why;
  for (const auto way : ways) {
    try {
      return use(run_as(source, way));
    } catch (const unreadable_model&) {
      throw;
    } catch (const model_error& e) {
      if (why.empty()) why = e.what();
    }
  }
  throw model_error(why);
}

}  // namespace troupe

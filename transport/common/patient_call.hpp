// A call that may block for long, and says so.
#pragma once
#include <functional>
#include <future>
#include <utility>

#include "messages/common/time.hpp"

namespace troupe {

/// The result of `f()`, which runs on a thread of its own. `notice` is called on the caller's thread if that
/// takes longer than `patience`; the call goes on. Exceptions of `f` are passed on.
template <class F>
auto patient_call(F f, duration patience, const std::function<void()>& notice) {
  auto answer = std::async(std::launch::async, std::move(f));
  if (answer.wait_for(patience) == std::future_status::timeout) notice();
  return answer.get();
}

}  // namespace troupe

// CAF inspection of every message: one function for all of them.
#pragma once
#include <caf/meta/type_name.hpp>

#include "messages/common/message.hpp"
#include "messages/common/time.hpp"

namespace troupe {

template <class Inspector, message_type T>
typename Inspector::result_type inspect(Inspector& f, T& x) {
  return x.fields([&](auto&... v) { return f(caf::meta::type_name(T::type_name), v...); });
}

template <class Inspector, class Tag, class Rep>
typename Inspector::result_type inspect(Inspector& f, strong_id<Tag, Rep>& x) {
  return f(x.value);
}

namespace llm {
using troupe::inspect;  // CAF looks in the namespace of a message
}

}  // namespace troupe

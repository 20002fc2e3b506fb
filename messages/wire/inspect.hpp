// CAF inspection of messages, generic over their fields.
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
using troupe::inspect;  // CAF finds it by argument-dependent lookup
}

}  // namespace troupe

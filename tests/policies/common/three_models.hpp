// Three model ids.
#pragma once
#include "messages/common/ids.hpp"

namespace troupe::test {

inline constexpr model_id model_a{0}, model_b{1}, model_c{2};

}  // namespace troupe::test

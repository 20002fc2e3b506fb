#include "messages/common/roles.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("roles: every name leads to its role and back") {
  for (size_t i = 0; i < role_count; ++i) {
    const auto expected = static_cast<role>(i);
    role parsed{};
    CHECK(parse_role(to_string(expected), parsed));
    CHECK(parsed == expected);
  }
  role parsed = role::placer;
  CHECK_FALSE(parse_role("placr", parsed));
  CHECK(parsed == role::placer);
}

TEST_CASE("roles: their numbers on the wire never change") {
  const role first[] = {role::node,       role::gateway, role::model_queue, role::rank_arbiter,
                        role::gpu_worker, role::console, role::metrics,     role::deployer,
                        role::extension,  role::placer,  role::llm_gateway, role::llm_engine,
                        role::llm_router};
  uint16_t number = 0;
  for (const auto r : first) CHECK(static_cast<uint16_t>(r) == number++);
}

#include "messages/wire/caf_types.hpp"

#include <doctest/doctest.h>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/init_global_meta_objects.hpp>
#include <caf/message.hpp>

#include "tests/messages/wire/random_message.hpp"

using namespace troupe;

TEST_CASE("every message survives CAF's serialisation, alone and inside a caf::message") {
  caf::actor_system_config config;
  config.add_message_types<caf::id_block::troupe>();
  caf::actor_system system(config);
  std::mt19937_64 rng(6);
  for_each_type(wire_message_list{}, [&]<class T>() {
    for (int i = 0; i < 20; ++i) {
      T x{};
      randomise(x, rng);
      caf::binary_serializer::container_type buffer;
      caf::binary_serializer sink(system, buffer);
      CHECK(sink(caf::make_message(x)) == caf::none);
      caf::message back;
      caf::binary_deserializer source(system, buffer);
      REQUIRE(source(back) == caf::none);
      REQUIRE(back.match_elements<T>());
      CHECK_MESSAGE(back.get_as<T>(0) == x, T::type_name);
    }
  });
}

TEST_CASE("messages print with their type name") {
  CHECK(caf::deep_to_string(ping{3, true}) == "ping(3, true)");
}

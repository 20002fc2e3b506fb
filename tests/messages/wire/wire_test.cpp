#include "messages/wire/wire.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("wire: a message's position in the variant is the number in its subject's list") {
#define CHECK_NUMBER(number, name, schema) CHECK(wire_message(name{}).index() == number);
  TROUPE_WIRE_MESSAGES(CHECK_NUMBER)
#undef CHECK_NUMBER
}

TEST_CASE("wire: numbers of messages never change") {
  CHECK(wire_message(submit{}).index() == 0);
  CHECK(wire_message(pong{}).index() == 11);
  CHECK(wire_message(change_reply{}).index() == 25);
  CHECK(wire_message(plugin_message{}).index() == 27);
  CHECK(wire_message(handover{}).index() == 28);
  CHECK(wire_message(sequences_preempted{}).index() == 39);
}

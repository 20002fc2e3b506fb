#include "tools/sim/timeline.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;
using namespace troupe::sim;

namespace {

struct one_node {
  timeline time{1, 1};
  sim_clock clock{time.truth(), 1h, 0};
  std::string happened;
  static constexpr node_id node{0};

  one_node() {
    time.set_clock(node, clock);
    time.begin_process(node);
  }
  auto note(char c) {
    return [this, c] { happened += c; };
  }
  void run_until(duration t) {
    while (time.step(t)) {
    }
  }
};

}  // namespace

TEST_CASE("events run by time, then by kind, then as they were scheduled") {
  one_node n;
  n.time.at(2ms, sim_event::wake, n.node, n.note('d'));
  n.time.at(2ms, sim_event::network, n.node, n.note('b'));
  n.time.at(1ms, sim_event::wake, n.node, n.note('a'));
  n.time.at(2ms, sim_event::network, n.node, n.note('c'));
  n.run_until(1ms);
  CHECK(n.happened == "a");
  n.run_until(5ms);
  CHECK(n.happened == "abcd");
  CHECK(n.time.now() == 5ms);
}

TEST_CASE("a frozen node catches up at once and in order on the events that came due") {
  one_node n;
  n.time.at(1ms, sim_event::network, n.node, n.note('a'));
  n.time.at(2ms, sim_event::network, n.node, n.note('b'));
  n.time.at(2ms, sim_event::fault, n.note('w'));
  n.time.freeze(n.node);
  n.run_until(3ms);
  CHECK(n.happened == "w");
  n.time.thaw(n.node);
  n.run_until(3ms);
  CHECK(n.happened == "wab");
}

TEST_CASE("scheduled events of a process end with it") {
  one_node n;
  n.time.at(1ms, sim_event::network, n.node, n.note('a'));
  n.time.freeze(n.node);
  n.run_until(1ms);
  n.time.at(2ms, sim_event::network, n.node, n.note('b'));
  n.time.end_process(n.node);
  n.time.at(2ms, sim_event::network, n.node, n.note('c'));
  n.time.begin_process(n.node);
  n.time.at(2ms, sim_event::network, n.node, n.note('d'));
  n.time.thaw(n.node);
  n.run_until(3ms);
  CHECK(n.happened == "d");
}

TEST_CASE("a local time comes when the node's clock says so") {
  one_node n;
  n.time.at_local(time_point{1h + 4ms}, sim_event::wake, n.node, n.note('a'));
  n.run_until(4ms - 1ns);
  CHECK(n.happened.empty());
  n.run_until(4ms);
  CHECK(n.happened == "a");
}

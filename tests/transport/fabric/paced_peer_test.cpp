// Paced pulls between two real processes.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "tests/transport/fabric/fabric_side.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr size_t paced_chunk = 4u << 20;

/// Pulls chunks of the peer, four at a time, each in the turn in which an earlier one has ended.
struct paced_window {
  explicit paced_window(side& s, int chunks) : us(s), left(chunks), into(4) {
    for (auto& i : into) i.resize(paced_chunk);
    for (size_t i = 0; i < into.size(); ++i) pull(i);
  }
  void pull(size_t place) {
    if (--left < 0) return;
    us.carrier->pull(there, 0, into[place], [this, place](pull_status how) {
      (how == pull_status::ok ? ok : lost) += 1;
      if (how == pull_status::ok) us.carrier->post([this, place] { pull(place); });
    });
  }
  side& us;
  std::atomic<int> left, ok{0}, lost{0};
  std::vector<std::vector<std::byte>> into;
};

}  // namespace

TEST_CASE("a window of chunks moves at the rate of the interfaces, and frames pass it") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  child.ask("take 30000000 9");
  constexpr int chunks = 64;
  const auto began = us.clock.now();
  paced_window w(us, chunks);
  us.carrier->send(there, bytes_of(1));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  CHECK(w.ok < chunks);
  REQUIRE(eventually([&] { return w.ok == chunks; }));
  const double took = to_seconds(us.clock.now() - began);
  const double at_rate = chunks * double{paced_chunk} * 8e-9 / paced_gbit_per_s;
  MESSAGE("took ", took / at_rate, " of the time at the rate");
  CHECK(took > 0.97 * at_rate);
  CHECK(took < 10 * at_rate);  // of a busy machine
  CHECK(w.lost == 0);
  CHECK(std::ranges::count(w.into[3], std::byte{9}) > 4'000'000);
}

TEST_CASE("chunks that wait for their time are lost once when their owner is killed") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  paced_window w(us, 1'000'000);
  REQUIRE(eventually([&] { return w.ok >= 8; }));
  child.kill();
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(eventually([&] { return w.lost == 4; }));
  us.carrier->stop();
  CHECK(w.lost == 4);
}

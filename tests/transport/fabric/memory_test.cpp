// The guarantee of pulled memory: a reader that was frozen and declared dead, and whose slot was reused,
// never accepts other bytes as its own. Real processes, real SIGSTOP.
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "tests/transport/fabric/fabric_child.hpp"
#include "tests/transport/fabric/fabric_offer.hpp"
#include "tests/transport/fabric/test_fabric.hpp"
#include "transport/memory/slot_pool.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Receives the reader's findings.
class owner final : public fabric_events {
 public:
  void on_frame(std::span<const std::byte> bytes) override {
    finding f;
    REQUIRE(bytes.size() == sizeof f);
    std::memcpy(&f, bytes.data(), sizeof f);
    std::lock_guard lock(mutex_);
    findings_[f.round] = f.found;
    changed_.notify_all();
  }
  void on_lost(node_id, incarnation_id, std::string) override {}
  void on_turn_end() override {}
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}

  verdict wait_for(uint64_t round) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, 20s, [&] { return findings_.contains(round); }));
    return findings_[round];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint64_t, verdict> findings_;
};

struct tally {
  int good = 0, stale = 0, foreign = 0, lost = 0;
};

enum class freeze { before_the_pull, during_the_pull };

/// Repeats: offers a slot, freezes the reader, frees the slot and fills it with other bytes, resumes the
/// reader.
tally freeze_and_reuse(freeze when, int rounds, const std::string& reader_kind) {
  fabric_child reader(1, 7, reader_kind);
  machine_clock clock;
  const auto carrier = make_test_fabric(test_options(0, 1), clock);
  slot_pool pool(node_id{0}, incarnation_id{1}, carrier->allocate(memory_kind::host, 5u << 20));
  owner events;
  carrier->start(events);
  reader.connect_to(0, 1, carrier->address());
  carrier->connect(node_id{1}, incarnation_id{7}, reader.address());

  constexpr uint64_t size = 4u << 20;
  std::mt19937 random(1);
  tally out;
  auto s = pool.take(size);
  for (int round = 1; round <= rounds; ++round) {
    const auto fill = static_cast<uint32_t>(round % 251);
    std::ranges::fill(s->payload, static_cast<std::byte>(fill));
    const region_ref& r = s->region;
    const offer o{static_cast<uint64_t>(round), r.owner.value, r.offset, r.size, r.generation, 0, fill};
    const auto* p = reinterpret_cast<const std::byte*>(&o);
    if (when == freeze::before_the_pull) reader.stop();
    carrier->send(node_id{1}, {p, p + sizeof o});
    if (when == freeze::during_the_pull) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 1500);
      while (std::chrono::steady_clock::now() < end) {
      }
      reader.stop();
    }
    REQUIRE(pool.give_back(r));
    const region_ref old = r;
    s = pool.take(size);  // only one slot fits, so it is the same memory
    REQUIRE(s->region.offset == old.offset);
    std::ranges::fill(s->payload, static_cast<std::byte>(fill + 1));
    reader.go_on();
    switch (events.wait_for(o.round)) {
      case verdict::good: ++out.good; break;
      case verdict::stale: ++out.stale; break;
      case verdict::foreign: ++out.foreign; break;
      case verdict::lost: ++out.lost; break;
    }
  }
  carrier->stop();
  MESSAGE("good ", out.good, ", stale ", out.stale, ", foreign ", out.foreign, ", lost ", out.lost);
  return out;
}

}  // namespace

TEST_CASE("a reader frozen before its pull finds the region stale") {
  const tally t = freeze_and_reuse(freeze::before_the_pull, 100, "");
  CHECK(t.stale == 100);
}

TEST_CASE("a reader frozen during its pull never accepts the bytes of another") {
  const tally t = freeze_and_reuse(freeze::during_the_pull, 400, "");
  CHECK(t.foreign == 0);
  CHECK(t.lost == 0);
  CHECK(t.stale > 0);
  CHECK(t.good + t.stale == 400);
}

TEST_CASE("the planted bug is detected: a reader without verification accepts the bytes of another") {
  CHECK(freeze_and_reuse(freeze::before_the_pull, 10, "trusting").foreign == 10);
  CHECK(freeze_and_reuse(freeze::during_the_pull, 100, "trusting").foreign > 0);
}

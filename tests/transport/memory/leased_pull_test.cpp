// Leased pulls between two real processes over each fabric.
#include "transport/memory/leased_pull.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/transport/fabric/fabric_side.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A slot of the peer.
region_ref leased_by(fabric_child& child, uint64_t size = 0) {
  region_ref out{there, {7}};
  std::istringstream(child.ask("take " + std::to_string(size) + " 1")) >> out.offset >> out.size >>
      out.generation;
  return out;
}

pull_status pull_under(side& us, const region_ref& lease, std::vector<pulled_range> ranges) {
  std::promise<pull_status> done;
  pull_leased(*us.carrier, lease, std::move(ranges), [&](pull_status s) { done.set_value(s); });
  auto end = done.get_future();
  REQUIRE(end.wait_for(20s) == std::future_status::ready);
  return end.get();
}

/// This side, connected to a new child.
struct lease_stage {
  explicit lease_stage(pull_path path, fabric_events* heard = nullptr) : us(options(path)) {
    us.carrier->start(heard ? *heard : us.events);
    us.meet(child, 7);
  }
  static test_fabric_options options(pull_path path) {
    auto o = test_options(0, 1);
    o.pulls = path;
    return o;
  }
  fabric_child child{1, 7};
  side us;
};

struct lease_tally {
  uint64_t good = 0, stale = 0;
  uint64_t torn = 0;     ///< stale ones with bytes that the owner wrote after the end of the lease
  uint64_t foreign = 0;  ///< accepted with such bytes
  uint64_t lost = 0;
};

/// Pulls what it is offered, and looks at every word.
class lease_reader final : public fabric_events {
 public:
  using begin_function = std::function<void(const region_ref&, std::vector<pulled_range>, pull_done)>;
  explicit lease_reader(begin_function begin) : begin_(std::move(begin)) {}

  void on_frame(std::span<const std::byte> bytes) override {
    lease_offer o;
    if (bytes.size() != sizeof o) return;
    std::memcpy(&o, bytes.data(), sizeof o);
    into_.assign(o.pages * o.page_bytes / sizeof(uint64_t), 0);
    std::vector<pulled_range> ranges;
    for (uint64_t page = 0; page < o.pages; ++page)
      ranges.push_back({o.first + 2 * page * o.page_bytes,
                        std::as_writable_bytes(std::span(into_)).subspan(page * o.page_bytes, o.page_bytes)});
    std::ranges::shuffle(ranges, random_);
    const region_ref lease{there, {o.incarnation}, memory_kind::host, o.lease, 0, o.generation};
    begin_(lease, std::move(ranges), [this, o](pull_status how) { judge(o, how); });
  }
  void on_lost(node_id, incarnation_id, std::string) override {}
  void on_turn_end() override {}
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}

  /// Answers the round.
  std::function<void(uint64_t round)> answer;
  lease_tally tally;  ///< of the fabric's thread, until it has stopped

 private:
  void judge(const lease_offer& o, pull_status how) {
    const bool intact = std::ranges::all_of(into_, [&](uint64_t word) { return word == o.round; });
    if (how == pull_status::ok) ++(intact ? tally.good : tally.foreign);
    if (how == pull_status::stale) ++tally.stale, tally.torn += !intact;
    if (how == pull_status::lost || how == pull_status::refused) ++tally.lost;
    answer(o.round);
  }

  const begin_function begin_;
  std::vector<uint64_t> into_;
  std::mt19937 random_{1};
};

struct reuse {
  uint64_t pages, page_bytes, microseconds, rounds;
};

/// The owner reuses pages while pulls run. `trusting`: the reader does not look at the lease.
lease_tally reuse_under_pulls(pull_path path, const reuse& r, bool trusting = false) {
  fabric* via = nullptr;
  lease_reader reader([&](const region_ref& lease, std::vector<pulled_range> ranges, pull_done done) {
    if (!trusting) return pull_leased(*via, lease, std::move(ranges), std::move(done));
    static std::byte unread[sizeof(slot_words)];
    pull_plan plan{std::move(ranges), 0};
    plan.early = plan.ranges.size();
    plan.ranges.push_back({lease.offset, unread});
    via->begin_pull(there, std::move(plan), std::move(done));
  });
  lease_stage s(path, &reader);
  via = s.us.carrier.get();
  reader.answer = [via](uint64_t round) { via->send(there, bytes_of(round)); };
  std::ostringstream command;
  command << "lease 0 " << r.pages << ' ' << r.page_bytes << ' ' << r.microseconds << ' ' << r.rounds;
  CHECK(s.child.ask(command.str()) == "ok");
  s.us.carrier->stop();
  const auto& t = reader.tally;
  MESSAGE("path ", static_cast<int>(path), ": good ", t.good, ", stale ", t.stale, " (torn ", t.torn,
          "), foreign ", t.foreign, ", lost ", t.lost);
  return t;
}

}  // namespace

TEST_CASE("a leased pull copies many ranges of several arenas, in any order and of any size") {
  for (const pull_path path : pull_paths()) {
    CAPTURE(static_cast<int>(path));
    lease_stage s(path);
    const auto second = s.child.ask_number("second_arena"), pages = s.child.ask_number("pages");
    const auto lease = leased_by(s.child);
    std::mt19937 random(3);
    for (const size_t count : {1u, 7u, 5000u}) {
      std::vector<size_t> sizes(count), places(count);
      for (auto& size : sizes) size = count == 5000 ? random() % 3000 : random() % 300'000;
      std::vector<std::byte> into(std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
      std::vector<pulled_range> ranges;
      size_t at = 0;
      for (size_t i = 0; i < count; ++i) {
        places[i] = random() % ((1u << 20) - sizes[i]);
        const auto arena = i % 5 == 4 ? pages : second;  // one of them is all zeros
        ranges.push_back({arena + places[i], std::span(into).subspan(at, sizes[i])});
        at += sizes[i];
      }
      const auto before = s.us.carrier->stats();
      REQUIRE(pull_under(s.us, lease, ranges) == pull_status::ok);
      const auto after = s.us.carrier->stats();
      CHECK(after.pulls - before.pulls == 1);
      CHECK(after.bytes_pulled - before.bytes_pulled == into.size() + sizeof(slot_words));
      for (size_t i = 0; i < count; ++i)
        for (size_t b = 0; b < sizes[i]; ++b) {
          const auto wanted = i % 5 == 4 ? std::byte{0} : mixed_byte(1, places[i] + b);
          if (ranges[i].into[b] != wanted) FAIL("wrong byte ", b, " of range ", i);
        }
    }
  }
}

TEST_CASE("a leased pull without ranges asks whether the lease holds") {
  for (const pull_path path : pull_paths()) {
    lease_stage s(path);
    auto lease = leased_by(s.child, 100);
    CHECK(pull_under(s.us, lease, {}) == pull_status::ok);
    std::byte none[1];
    CHECK(pull_under(s.us, lease, {{0, std::span(none).first(0)}}) == pull_status::ok);
    lease.generation += 1;
    CHECK(pull_under(s.us, lease, {}) == pull_status::stale);
    lease.generation = 0;
    CHECK(pull_under(s.us, lease, {}) == pull_status::stale);
  }
}

TEST_CASE("a leased pull of a lease of another incarnation is stale") {
  for (const pull_path path : pull_paths()) {
    lease_stage s(path);
    auto lease = leased_by(s.child);
    lease.owner = {8};
    std::vector<std::byte> into(2u << 20);
    CHECK(pull_under(s.us, lease, {{0, into}}) == pull_status::stale);
  }
}

TEST_CASE("a leased pull with a range outside the peer's memory, or with too many, is refused as a whole") {
  for (const pull_path path : pull_paths()) {
    lease_stage s(path);
    const auto second = s.child.ask_number("second_arena");
    const auto lease = leased_by(s.child);
    std::vector<std::byte> good(2000), beyond(2000);
    const auto with = [&](uint64_t offset) {
      return pull_under(s.us, lease, {{second, good}, {offset, beyond}});
    };
    CHECK(with(second + (1u << 20) - 2000) == pull_status::ok);
    CHECK(with(second + (1u << 20) - 1999) == pull_status::refused);
    CHECK(with(second * 40) == pull_status::refused);
    CHECK(with(~uint64_t{0} - 100) == pull_status::refused);
    std::vector<pulled_range> many(max_early_ranges, {second, std::span(good).first(8)});
    CHECK(pull_under(s.us, lease, many) == pull_status::ok);
    many.push_back(many.back());
    CHECK(pull_under(s.us, lease, many) == pull_status::refused);
  }
}

TEST_CASE(
    "leased pulls end once when their peer is disconnected or killed, and their memory is left alone then") {
  for (const bool killed : {false, true}) {
    for (const pull_path path : pull_paths()) {
      CAPTURE(killed);
      CAPTURE(static_cast<int>(path));
      lease_stage s(path);
      const auto lease = leased_by(s.child);
      constexpr size_t range_bytes = 64u << 10, ranges_each = 200;
      std::vector<std::vector<std::byte>> into(5, std::vector<std::byte>(range_bytes * ranges_each));
      std::vector<std::atomic<int>> ends(into.size());
      for (size_t i = 0; i < into.size(); ++i) {
        std::vector<pulled_range> ranges;
        for (size_t r = 0; r < ranges_each; ++r)
          ranges.push_back({r * range_bytes, std::span(into[i]).subspan(r * range_bytes, range_bytes)});
        pull_leased(*s.us.carrier, lease, std::move(ranges), [&, i](pull_status) { ++ends[i]; });
      }
      if (killed)
        s.child.kill();
      else
        s.us.carrier->disconnect(there);
      const auto all_ended = [&] { return std::ranges::all_of(ends, [](const auto& n) { return n == 1; }); };
      CHECK(eventually(all_ended));
      for (auto& memory : into) std::ranges::fill(memory, std::byte{9});
      s.us.carrier->stop();
      CHECK(all_ended());
      for (const auto& memory : into)
        CHECK(static_cast<size_t>(std::ranges::count(memory, std::byte{9})) == memory.size());
    }
  }
}

TEST_CASE("pages that their owner reuses during a leased pull are always noticed") {
  uint64_t good = 0, torn = 0;
  for (const pull_path path : pull_paths()) {
    const uint64_t rounds = (path == pull_paths().front() ? 10'000 : 1500) / sanitizer_factor;
    const auto t = reuse_under_pulls(path, {15, 4096, 150, rounds});
    CHECK(t.foreign == 0);
    CHECK(t.lost == 0);
    CHECK(t.good + t.stale == rounds);
    CHECK(t.stale > 0);
    good += t.good;
    torn += t.torn;
  }
  CHECK(good > 0);
  CHECK(torn > 0);
}

TEST_CASE("large pages that their owner reuses during a leased pull are always noticed") {
  uint64_t torn = 0;
  for (const pull_path path : pull_paths()) {
    const uint64_t rounds = 500 / sanitizer_factor;
    const auto t = reuse_under_pulls(path, {8, 256u << 10, 1500, rounds});
    CHECK(t.foreign == 0);
    CHECK(t.lost == 0);
    CHECK(t.good + t.stale == rounds);
    torn += t.torn;
  }
  CHECK(torn > 0);
}

TEST_CASE("the planted bug is detected: a reader that does not look at the lease accepts reused pages") {
  uint64_t foreign = 0;
  for (const pull_path path : pull_paths())
    foreign += reuse_under_pulls(path, {15, 4096, 150, 1000}, true).foreign;
  CHECK(foreign > 0);
}

// Two real processes over UCX. UCX_TLS decides over what: the same tests run over shared memory and over TCP.
#include "transport/ucx_fabric.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "tests/transport/fabric_child.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

constexpr node_id here{0}, there{1};

/// Keeps what a fabric tells its owner.
class recorder final : public fabric_events {
 public:
  struct loss {
    node_id peer;
    incarnation life;
    std::string why;
  };

  void on_frame(std::span<const std::byte> bytes) override {
    std::lock_guard lock(mutex_);
    aligned_ = aligned_ && reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0;
    frames_.emplace_back(bytes.begin(), bytes.end());
    changed_.notify_all();
  }
  void on_lost(node_id peer, incarnation life, std::string why) override {
    std::lock_guard lock(mutex_);
    losses_.push_back({peer, life, std::move(why)});
    changed_.notify_all();
  }
  void on_turn_end() override {}
  time_point tick_at() const override { return next_tick_; }
  void on_tick(time_point now) override {
    late_.push_back(now - next_tick_);
    next_tick_ = late_.size() < 20 ? now + 5ms : never;
  }

  bool wait_for_frames(size_t n, duration limit = 20s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return frames_.size() >= n; });
  }
  bool wait_for_losses(size_t n, duration limit = 20s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return losses_.size() >= n; });
  }
  std::vector<std::vector<std::byte>> frames() {
    std::lock_guard lock(mutex_);
    return frames_;
  }
  std::vector<loss> losses() {
    std::lock_guard lock(mutex_);
    return losses_;
  }
  bool aligned() {
    std::lock_guard lock(mutex_);
    return aligned_;
  }

  time_point next_tick_ = never;  // of the fabric's thread, once it runs
  std::vector<duration> late_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<std::byte>> frames_;
  std::vector<loss> losses_;
  bool aligned_ = true;
};

/// This process's side.
struct side {
  explicit side(const ucx_options& o = test_options(0, 1)) : carrier(make_ucx_fabric(o, clock)) {}
  ~side() { carrier->stop(); }
  void meet(fabric_child& child, uint64_t life) {
    child.connect_to(0, 1, carrier->address());
    carrier->connect(there, incarnation{life}, child.address());
  }
  pull_status pull(uint64_t offset, std::span<std::byte> into) {
    std::promise<pull_status> done;
    carrier->pull(there, offset, into, [&](pull_status s) { done.set_value(s); });
    return done.get_future().get();
  }

  machine_clock clock;
  recorder events;
  std::unique_ptr<fabric> carrier;
};

std::vector<std::byte> bytes_of(uint64_t word, size_t size = 8) {
  std::vector<std::byte> out(size);
  std::memcpy(out.data(), &word, sizeof word);
  return out;
}

bool is_mixed(const std::vector<std::byte>& frame, uint64_t i) {
  if (frame.size() != mixed_size(i)) return false;
  for (size_t at = 0; at < frame.size(); ++at) {
    if (frame[at] != mixed_byte(i, at)) return false;
  }
  return true;
}

bool eventually(auto condition, duration limit = 20s) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

duration cpu_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4096;
}

/// Sanitizers keep freed memory back, and take their time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int sanitizer_factor = 3;
#else
constexpr int sanitizer_factor = 1;
#endif

}  // namespace

TEST_CASE("frames from 1 byte to 4 MiB arrive whole, aligned and in order") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  constexpr uint64_t count = 500;
  REQUIRE(child.ask("burst 0 500") == "ok");
  REQUIRE(us.events.wait_for_frames(count));
  const auto frames = us.events.frames();
  REQUIRE(frames.size() == count);
  for (uint64_t i = 0; i < count; ++i) {
    INFO("frame ", i);
    REQUIRE(is_mixed(frames[i], i));
  }
  CHECK(us.events.aligned());
  CHECK(us.events.losses().empty());
  const auto stats = us.carrier->stats();
  CHECK(stats.frames_in == count);
  CHECK(stats.discarded_in == 0);
}

TEST_CASE("small frames keep their order however many threads send them") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  std::atomic<uint64_t> next{0};
  std::mutex one_at_a_time;  // the order is that of the calls of send
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::lock_guard lock(one_at_a_time);
        us.carrier->send(there, bytes_of(next++, 64));
      }
    });
  }
  for (auto& t : threads) t.join();
  const auto all_in = [&] {
    return child.ask_number("received") + us.carrier->stats().discarded_out == 10'000;
  };
  CHECK(eventually(all_in));
  CHECK(child.ask("ordered") == "1");
}

TEST_CASE("a frame beyond the limit breaks the connection, and nothing behind it arrives") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  us.carrier->send(there, std::vector<std::byte>(test_options(0, 1).max_frame_bytes + 1));
  us.carrier->send(there, bytes_of(2));
  us.carrier->send(node_id{99}, bytes_of(1));  // nobody
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(us.events.losses()[0].why == "a frame to it is too large");
  CHECK(eventually([&] { return us.carrier->stats().discarded_out == 3; }));
  us.meet(child, 8);
  us.carrier->send(there, bytes_of(3));
  CHECK(eventually([&] { return child.ask_number("received") == 2; }));
}

TEST_CASE("a process that falls behind with sending breaks its connections") {
  fabric_child child(1, 7);
  auto options = test_options(0, 1);
  options.max_queued_bytes = 1u << 20;
  side us(options);
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(0));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  std::promise<void> go_on;
  us.carrier->post([&] { go_on.get_future().wait(); });  // the progress thread is held up
  for (uint64_t i = 1; i <= 100; ++i) us.carrier->send(there, bytes_of(i, 64 << 10));
  CHECK(us.events.losses().empty());
  go_on.set_value();
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(us.events.losses()[0].why == "this process fell behind with sending");
  const auto s = us.carrier->stats();
  CHECK(s.frames_out + s.discarded_out == 101);
  CHECK(s.discarded_out > 0);
  us.meet(child, 8);
  us.carrier->send(there, bytes_of(101));
  CHECK(eventually([&] { return child.ask_number("received") >= 2; }));
  CHECK(child.ask("ordered") == "1");
}

TEST_CASE("pulls copy what the peer offers, by every path and many at a time") {
  for (const pull_path path : {pull_path::automatic, pull_path::one_sided, pull_path::by_message}) {
    INFO("path ", static_cast<int>(path));
    fabric_child child(1, 7);
    auto options = test_options(0, 1);
    options.pulls = path;
    side us(options);
    us.carrier->start(us.events);
    us.meet(child, 7);
    struct offered {
      uint64_t offset, size, generation;
      int fill;
      std::vector<std::byte> into;
      std::promise<pull_status> done;
    };
    std::vector<offered> all(24);
    for (size_t i = 0; i < all.size(); ++i) {
      auto& o = all[i];
      o.fill = static_cast<int>(i + 1);
      const uint64_t size = i % 6 == 5 ? 3u << 20 : i % 3 == 0 ? i : i * 5000;
      std::istringstream(child.ask("take " + std::to_string(size) + " " + std::to_string(o.fill))) >>
          o.offset >> o.size >> o.generation;
      o.into.resize((o.size + 7) / 8 * 8 + 32);
    }
    for (int repetition = 0; repetition < 3; ++repetition) {
      for (auto& o : all) {
        std::ranges::fill(o.into, std::byte{0});
        o.done = {};
        us.carrier->pull(there, o.offset, o.into, [&o](pull_status s) { o.done.set_value(s); });
      }
      for (auto& o : all) {
        auto result = o.done.get_future();
        REQUIRE(result.wait_for(20s) == std::future_status::ready);
        REQUIRE(result.get() == pull_status::ok);
        uint64_t words[2];
        std::memcpy(words, o.into.data(), 16);
        REQUIRE(words[0] == 7);
        REQUIRE(words[1] == o.generation);
        REQUIRE(std::memcmp(o.into.data() + o.into.size() - 16, words, 16) == 0);
        for (size_t at = 0; at < o.size; ++at) {
          if (o.into[16 + at] != static_cast<std::byte>(o.fill)) FAIL("wrong byte at ", at);
        }
      }
    }
    CHECK(us.carrier->stats().pulls == 3 * all.size());
    std::vector<std::byte> into(64);
    CHECK(us.pull(32u << 20, into) == pull_status::refused);
    CHECK(us.pull(~uint64_t{0} - 8, into) == pull_status::refused);
    CHECK(us.pull((32u << 20) - 64, into) == pull_status::ok);
  }
}

TEST_CASE("a process pulls from its own pool, and from nobody it does not know") {
  side us;
  const auto pool = us.carrier->allocate(memory_kind::host, 1u << 20);
  us.carrier->start(us.events);
  for (size_t i = 0; i < 4096; ++i) pool.bytes[i] = static_cast<std::byte>(i);
  std::vector<std::byte> into(4096);
  std::promise<pull_status> own, stranger;
  us.carrier->pull(here, 0, into, [&](pull_status s) { own.set_value(s); });
  CHECK(own.get_future().get() == pull_status::ok);
  CHECK(std::memcmp(into.data(), pool.bytes.data(), into.size()) == 0);
  us.carrier->pull(node_id{5}, 0, into, [&](pull_status s) { stranger.set_value(s); });
  CHECK(stranger.get_future().get() == pull_status::lost);
}

TEST_CASE("a killed peer is reported within a second, and its next life is reached") {
  side us;
  us.carrier->start(us.events);
  for (uint64_t life = 1; life <= 3; ++life) {
    INFO("life ", life);
    fabric_child child(1, life);
    us.meet(child, life);
    const size_t before = us.events.frames().size();
    REQUIRE(child.ask("burst 0 20") == "ok");
    REQUIRE(us.events.wait_for_frames(before + 20));
    us.carrier->send(there, bytes_of(life));
    REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
    const auto killed = std::chrono::steady_clock::now();
    child.kill();
    REQUIRE(us.events.wait_for_losses(life));
    const duration took = std::chrono::steady_clock::now() - killed;
    MESSAGE("noticed after ", to_ms(took), " ms");
    CHECK(took < 1500ms);
    CHECK(us.events.losses().back().peer == there);
    CHECK(us.events.losses().back().life.value == life);
    CHECK(!us.events.losses().back().why.empty());
  }
  CHECK(us.events.losses().size() == 3);
}

TEST_CASE("pulls from a peer that is killed end exactly once") {
  for (const pull_path path : {pull_path::automatic, pull_path::by_message}) {
    fabric_child child(1, 3);
    auto options = test_options(0, 1);
    options.pulls = path;
    side us(options);
    us.carrier->start(us.events);
    us.meet(child, 3);
    std::vector<std::vector<std::byte>> into(50, std::vector<std::byte>(4u << 20));
    std::vector<std::atomic<int>> ended(into.size());
    for (size_t i = 0; i < into.size(); ++i) {
      us.carrier->pull(there, 0, into[i], [&ended, i](pull_status) { ++ended[i]; });
      if (i == 10) child.kill();
    }
    const auto all_ended = [&] { return std::ranges::all_of(ended, [](const auto& n) { return n == 1; }); };
    CHECK(eventually(all_ended, 5s));
    us.carrier->stop();
    CHECK(all_ended());
  }
}

TEST_CASE("a damaged address is refused with a reason and never reaches UCX") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  size_t refused = 0;
  for (size_t at = 0; at < child.address().size(); ++at) {
    std::string address = child.address();
    address[at] = static_cast<char>(address[at] ^ (1 << at % 8));
    us.carrier->connect(there, incarnation{7}, address);
    REQUIRE(us.events.wait_for_losses(++refused));
  }
  us.carrier->connect(there, incarnation{7}, "");
  us.carrier->connect(node_id{2}, incarnation{7}, child.address());
  REQUIRE(us.events.wait_for_losses(refused + 2));
  const auto losses = us.events.losses();
  CHECK(losses[20].why == "its address is damaged (checksum)");
  CHECK(losses[refused].why == "its address is cut short (0 bytes)");
  CHECK(losses[refused + 1].why == "its address is that of node 1");
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));
  CHECK(eventually([&] { return child.ask_number("received") == 1; }));
}

TEST_CASE("a storm of frames to a peer that has stopped stays bounded and holds nobody up") {
  fabric_child child(1, 7);
  auto options = test_options(0, 1);
  options.max_unsent_frames = 4096;
  options.max_unsent_bytes = 16u << 20;
  options.max_queued_bytes = 16u << 20;
  side us(options);
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(0, 64));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  child.stop();
  const int64_t before = resident_bytes();
  duration slowest{};
  for (uint64_t i = 1; i <= 100'000; ++i) {
    const auto began = std::chrono::steady_clock::now();
    us.carrier->send(there, bytes_of(i, i % 100 == 0 ? 200'000 : 64));
    slowest = std::max<duration>(slowest, std::chrono::steady_clock::now() - began);
  }
  const int64_t grew = resident_bytes() - before;
  MESSAGE("slowest send ", to_ms(slowest), " ms, grew by ", grew >> 20, " MiB");
  CHECK(slowest < 200ms);
  CHECK(grew < sanitizer_factor * (150l << 20));
  const auto settled = [&] {
    const auto s = us.carrier->stats();
    return s.frames_out + s.discarded_out == 100'001;
  };
  CHECK(eventually(settled));
  CHECK(us.carrier->stats().discarded_out > 0);
  REQUIRE(us.events.wait_for_losses(1));  // or an order among the discarded could hold a slot for ever
  SUBCASE("when it goes on, it has got the beginning, and both can meet again") {
    child.go_on();
    CHECK(child.ask_number("received") <= us.carrier->stats().frames_out);
    CHECK(child.ask("ordered") == "1");
    us.meet(child, 8);
    us.carrier->send(there, bytes_of(100'001));
    CHECK(eventually([&] { return child.ask_number("last") == 100'001; }));
    CHECK(us.events.losses().size() == 1);
  }
  SUBCASE("waiting for it costs no more than a tenth of a core") {
    const auto used = cpu_time();
    std::this_thread::sleep_for(1s);
    CHECK(cpu_time() - used < sanitizer_factor * 100ms);
    child.go_on();
  }
  SUBCASE("stop does not wait for it") {
    std::vector<std::byte> into(1u << 20);
    std::atomic<int> ended{0};
    us.carrier->pull(there, 0, into, [&](pull_status) { ++ended; });
    const auto began = std::chrono::steady_clock::now();
    us.carrier->stop();
    CHECK(std::chrono::steady_clock::now() - began < 2s);
    CHECK(ended == 1);
    us.carrier->pull(there, 0, into, [&](pull_status s) { ended += s == pull_status::lost ? 10 : 100; });
    CHECK(ended == 11);
  }
}

TEST_CASE("an idle fabric takes less than 3 % of a core") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));
  REQUIRE(eventually([&] { return child.ask_number("received") == 1; }));
  const auto ours = cpu_time();
  const uint64_t theirs = child.ask_number("cpu");
  std::this_thread::sleep_for(2s);
  CHECK(child.ask_number("cpu") - theirs < 60'000);
  CHECK(cpu_time() - ours < 60ms);
  CHECK(us.carrier->stats().sleeps > 0);
}

TEST_CASE("ticks come when they are due, and jobs run on the fabric's thread") {
  side us;
  us.events.next_tick_ = us.clock.now() + 10ms;
  us.carrier->start(us.events);
  std::promise<std::thread::id> ran;
  us.carrier->post([&] { ran.set_value(std::this_thread::get_id()); });
  CHECK(ran.get_future().get() != std::this_thread::get_id());
  std::this_thread::sleep_for(400ms);
  us.carrier->stop();
  REQUIRE(us.events.late_.size() == 20);
  std::ranges::sort(us.events.late_);
  CHECK(us.events.late_.front() >= 0ms);
  CHECK(us.events.late_[10] < 2ms);
}

TEST_CASE("after a disconnect nothing more arrives from that life") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  us.carrier->send(there, bytes_of(1));  // leaves before the connection is closed
  us.carrier->disconnect(there);
  CHECK(eventually([&] { return child.ask_number("received") == 1; }));
  const size_t before = us.events.frames().size();
  child.tell("burst 0 10");
  std::this_thread::sleep_for(100ms);
  CHECK(us.events.frames().size() == before);
}

TEST_CASE("two processes that parted meet again, also under a new life") {
  fabric_child child(1, 7);
  side us;
  us.carrier->start(us.events);
  us.meet(child, 7);
  REQUIRE(child.ask("burst 0 20") == "ok");
  REQUIRE(us.events.wait_for_frames(20));
  us.carrier->disconnect(there);
  us.meet(child, 8);
  us.carrier->send(there, bytes_of(1));
  CHECK(eventually([&] { return child.ask_number("received") == 1; }));
  REQUIRE(child.ask("burst 0 20") == "ok");
  CHECK(us.events.wait_for_frames(40));
  child.kill();
  REQUIRE(us.events.wait_for_losses(1));
  CHECK(us.events.losses()[0].life == incarnation{8});
}

#include "transport/fabric/ucx/range_copies.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "transport/fabric/pull_plan.hpp"

using namespace troupe;
using ucx::copy_priority;
using ucx::range_copies;

namespace {

constexpr size_t large = size_t{4} << 20;

std::vector<std::byte> uneven_bytes(size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 31 + i / 251);
  return out;
}

/// The jobs that are posted to this thread.
class driver {
 public:
  range_copies::post post() {
    return [this](std::function<void()> job) {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(job));
      more_.notify_one();
    };
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [this] { return !jobs_.empty(); });
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
  }
  void wait_for(size_t jobs) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return jobs_.size() >= jobs; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<void()>> jobs_;
};

/// Copies a range whose ends are read last.
void add_range(range_copies& copies, const void* owner, std::span<const std::byte> from,
               std::span<std::byte> into, pull_done done) {
  auto plan = plan_with_ends(0, into);
  pull_sources sources;
  for (const auto& r : plan.ranges) sources.push_back(from.subspan(r.offset, r.into.size()));
  copies.add(owner, std::move(sources), std::move(plan), std::move(done));
}

struct copied {
  explicit copied(size_t bytes) : from(uneven_bytes(bytes)), into(bytes) {}
  void begin(range_copies& copies, const void* owner = nullptr) {
    add_range(copies, owner, from, into, [this](pull_status s) { ended = s; });
  }
  std::vector<std::byte> from, into;
  std::optional<pull_status> ended;
};

struct copies_stage {
  copies_stage() { copies.set_post(here.post()); }
  driver here;  // outlives the copies, which post to it
  range_copies copies{copy_priority::usual};
};

constexpr std::byte rewritten{0xe5};

/// A range whose owner writes both of its ends at the moment at which a page of it is first read.
class rewritten_range {
 public:
  rewritten_range(size_t bytes, size_t page) : page_(page) {
    auto* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no memory");
    bytes_ = {static_cast<std::byte*>(at), bytes};
    std::ranges::copy(uneven_bytes(bytes), bytes_.begin());
    present_ = this;
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* fault, void*) { present_->on_read(fault->si_addr); };
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &former_);
    ::mprotect(trap().data(), trap().size(), PROT_NONE);
  }
  ~rewritten_range() {
    ::sigaction(SIGSEGV, &former_, nullptr);
    ::munmap(bytes_.data(), bytes_.size());
  }
  rewritten_range(const rewritten_range&) = delete;
  rewritten_range& operator=(const rewritten_range&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  static size_t page_bytes() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

 private:
  std::span<std::byte> trap() const { return bytes_.subspan(page_ * page_bytes(), page_bytes()); }
  /// On the thread that reads.
  void on_read(const void* at) const {
    if (at < trap().data() || at >= trap().data() + trap().size()) std::abort();
    ::mprotect(trap().data(), trap().size(), PROT_READ | PROT_WRITE);
    std::ranges::fill(bytes_.first(end_bytes), rewritten);
    std::ranges::fill(bytes_.last(end_bytes), rewritten);
  }

  static inline const rewritten_range* present_ = nullptr;
  const size_t page_;
  std::span<std::byte> bytes_;
  struct sigaction former_ {};
};

}  // namespace

TEST_CASE("ranges are copied in their order, and end on the driver's thread") {
  copies_stage s;
  copied first(large + 7), second(2 * end_bytes);
  first.begin(s.copies);
  second.begin(s.copies);
  s.here.wait_for(2);
  CHECK(!first.ended);
  s.here.run_one();
  CHECK(first.ended == pull_status::ok);
  CHECK(first.into == first.from);
  CHECK(!second.ended);
  s.here.run_one();
  CHECK(second.ended == pull_status::ok);
  CHECK(second.into == second.from);
}

TEST_CASE("the copies of an owner end as lost, and others go on") {
  copies_stage s;
  const int mine = 0, other = 0;
  copied under_way(8 * large), waits(large), kept(large);
  under_way.begin(s.copies, &mine);
  kept.begin(s.copies, &other);
  waits.begin(s.copies, &mine);
  s.copies.cancel(&mine);
  CHECK(under_way.ended == pull_status::lost);
  CHECK(waits.ended == pull_status::lost);
  // Neither is written any more.
  const auto before = under_way.into;
  CHECK(waits.into == std::vector<std::byte>(large));
  while (!kept.ended) s.here.run_one();
  CHECK(kept.ended == pull_status::ok);
  CHECK(kept.into == kept.from);
  CHECK(under_way.into == before);
}

TEST_CASE("a copy that is cancelled after its end is lost") {
  copies_stage s;
  copied c(large), next(large);
  c.begin(s.copies);
  s.here.wait_for(1);
  s.copies.cancel(nullptr);
  CHECK(c.ended == pull_status::lost);
  c.ended.reset();
  s.here.run_one();
  CHECK(!c.ended);
  next.begin(s.copies);
  s.here.run_one();
  CHECK(next.ended == pull_status::ok);
}

TEST_CASE("the end of one copy may begin the next") {
  copies_stage s;
  copied first(large), second(large);
  add_range(s.copies, nullptr, first.from, first.into, [&](pull_status) { second.begin(s.copies); });
  s.here.run_one();
  s.here.run_one();
  CHECK(second.into == second.from);
}

TEST_CASE("copies may end with their process under way") {
  driver here;
  copied c(16 * large);
  {
    range_copies copies(copy_priority::low);
    copies.set_post(here.post());
    c.begin(copies);
  }
  CHECK(!c.ended);
}

// So that the words there vouch for the bytes between them (transport/memory/pull_check.hpp).
TEST_CASE("the ends of a range are read after all others, whichever page of it is read at the time") {
  const auto pages = large / rewritten_range::page_bytes();
  for (const size_t page : {size_t{1}, pages / 2, pages - 2}) {
    CAPTURE(page);
    const rewritten_range range(large, page);
    std::vector<std::byte> into(large);
    std::optional<pull_status> ended;
    copies_stage s;
    add_range(s.copies, nullptr, range.bytes(), into, [&](pull_status status) { ended = status; });
    s.here.run_one();
    CHECK(ended == pull_status::ok);
    for (size_t i = 0; i < end_bytes; ++i) {
      CHECK(into[i] == rewritten);
      CHECK(into[large - 1 - i] == rewritten);
    }
    CHECK(std::ranges::equal(into, range.bytes()));
  }
}

TEST_CASE(
    "the last ranges of a plan are read after all early ones, whichever page of them is read at the time") {
  const auto page_bytes = rewritten_range::page_bytes();
  const auto pages = large / page_bytes;
  for (const size_t page : {size_t{1}, pages / 2, pages - 2}) {
    CAPTURE(page);
    const rewritten_range range(large, page);
    std::vector<std::byte> into(large - page_bytes), word(end_bytes);
    pull_plan plan;
    pull_sources from;
    for (size_t at = large - page_bytes; at > 0; at -= page_bytes) {  // backwards
      plan.ranges.push_back({at, std::span(into).subspan(at - page_bytes, page_bytes)});
      from.push_back(range.bytes().subspan(at, page_bytes));
    }
    plan.early = plan.ranges.size();
    plan.ranges.push_back({0, word});
    from.push_back(range.bytes().first(end_bytes));
    std::optional<pull_status> ended;
    copies_stage s;
    s.copies.add(nullptr, from, plan, [&](pull_status status) { ended = status; });
    s.here.run_one();
    CHECK(ended == pull_status::ok);
    CHECK(std::ranges::all_of(word, [](std::byte b) { return b == rewritten; }));
    CHECK(std::ranges::equal(std::span(into).first(large - 2 * page_bytes),
                             range.bytes().subspan(page_bytes, large - 2 * page_bytes)));
  }
}

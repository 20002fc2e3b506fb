#include "policies/scaling/measured_rate.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace troupe;

namespace {

constexpr uint64_t pulled_chunk = 4 << 20;
constexpr uint32_t chunks_of_sample = measured_rate::sample_bytes / pulled_chunk;
constexpr duration chunk_time = 4ms;
/// Gbit/s of one chunk after the other.
constexpr double of_chunks_in(duration each) {
  return static_cast<double>(pulled_chunk) * 8 / static_cast<double>(each.count());
}

/// Pulls chunks over a link that carries one after the other, `window` at a time.
struct scripted_pulls {
  explicit scripted_pulls(uint32_t window_ = 1) : window(window_) {}

  void pull(uint32_t count, duration each = chunk_time) {
    for (uint32_t i = 0; i < count; ++i) {
      while (posted.size() < window) posted.push_back(now);
      now += each;
      const auto from = posted.front();
      posted.pop_front();
      samples += rate.add(pulled_chunk, from, now, posted.empty());
    }
  }
  /// The source has nothing to give, and no pull is under way.
  void wait(duration time) {
    posted.clear();
    now += time;
  }

  uint32_t window;
  measured_rate rate;
  time_point now{1s};
  std::deque<time_point> posted;
  int samples = 0;
};

}  // namespace

TEST_CASE("measured rate: few bytes are no measurement") {
  scripted_pulls p;
  p.pull(chunks_of_sample - 1);
  CHECK(p.rate.gbit_per_s() == 0);
  CHECK(p.samples == 0);
  SUBCASE("another transfer does not add to them") {
    p.rate.begin();
    p.pull(1);
    CHECK(p.rate.gbit_per_s() == 0);
    p.pull(chunks_of_sample - 1);
  }
  SUBCASE("the same one does") { p.pull(1); }
  CHECK(p.samples == 1);
  CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
}

TEST_CASE("measured rate: pulls back to back, with and without a window, have the rate of the link") {
  for (const auto window : {1u, 2u, 4u, 8u}) {
    scripted_pulls p(window);
    p.pull(100);
    CHECK(p.samples == 100 / chunks_of_sample);
    CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
  }
}

TEST_CASE("measured rate: gaps in which the source has nothing to give do not count") {
  scripted_pulls p(4);
  for (int i = 0; i < 30; ++i) {
    p.pull(3);
    p.wait(i % 2 == 0 ? 50ms : 1s);
  }
  CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
}

TEST_CASE("measured rate: pulls that share the link and end nearly together have its rate") {
  for (const int window : {2, 3, 4, 7}) {
    CAPTURE(window);
    measured_rate rate;
    time_point now{1s};
    for (int i = 0; i < 10; ++i) {
      const auto posted = now;
      now += window * chunk_time;
      for (int k = 0; k < window; ++k) rate.add(pulled_chunk, posted, now += 10us, false);
    }
    CHECK(rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)).epsilon(0.01));
  }
}

TEST_CASE("measured rate: notices that come late all at once give no rate of their own") {
  measured_rate rate;
  const time_point began{1s};
  const auto end = began + 40 * chunk_time;
  for (int i = 1; i <= 40; ++i) rate.add(pulled_chunk, began, end, false);
  CHECK(rate.gbit_per_s() == 0);
  rate.add(pulled_chunk, end, end + chunk_time, false);
  CHECK(rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
  measured_rate at_once;
  for (uint32_t i = 0; i < 2 * chunks_of_sample; ++i) at_once.add(pulled_chunk, began, began, true);
  CHECK(at_once.gbit_per_s() == 0);
}

TEST_CASE("measured rate: one slow pull changes nothing, unless there is but one sample") {
  scripted_pulls p(4);
  p.pull(1, 20s);
  p.pull(chunks_of_sample);
  CHECK(p.rate.gbit_per_s() < 0.1);
  p.pull(chunks_of_sample);
  CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
  p.pull(3 * chunks_of_sample);
  p.pull(1, 20s);
  p.pull(chunks_of_sample);
  CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
}

TEST_CASE("measured rate: it follows a link that changes, after half of the samples that it keeps") {
  scripted_pulls p(4);
  p.pull(20 * chunks_of_sample);
  const auto half = static_cast<uint32_t>(measured_rate::max_samples / 2);
  p.pull(half * chunks_of_sample, 4 * chunk_time);
  CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(chunk_time)));
  p.pull(chunks_of_sample + 1, 4 * chunk_time);
  CHECK(p.rate.gbit_per_s() == doctest::Approx(of_chunks_in(4 * chunk_time)));
}

#include "gpu/device/emulated_device.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "gpu/common/fnv.hpp"
#include "gpu/common/model_error.hpp"

using namespace troupe;

namespace {

const model_source emulated_source{
    "m", "", {{{"x", data_type::fp32, {2}}}, {{"y", data_type::fp32, {3}}}}, {2ms, 5ms}, 8};
constexpr model_id emulated_id{4};

batch_outcome run_batch(emulated_device& d, uint32_t rows, time_point at) {
  d.start({emulated_id, rows, {}}, at);
  batch_outcome out;
  CHECK(d.poll(d.poll_at(), out));
  return out;
}

std::vector<std::byte> bytes(size_t n, int fill) {
  return std::vector<std::byte>(n, static_cast<std::byte>(fill));
}

}  // namespace

TEST_CASE("an emulated device throws on the input marked by throw_on, and on no other") {
  emulated_device d({.throw_on = "bad"});
  d.load(emulated_id, emulated_source);
  const auto start = [&](std::string_view input) {
    batch_work work{emulated_id, 1, {}};
    work.parts.push_back({1, std::as_bytes(std::span(input)), {}});
    d.start(std::move(work), time_point{1h});
  };
  CHECK_THROWS_AS(start("bad input"), std::runtime_error);
  CHECK_NOTHROW(start("good input"));
}

TEST_CASE("an emulated batch takes alpha times its rows plus beta, at any time of the poll") {
  emulated_device d;
  CHECK(d.load(emulated_id, emulated_source).latency == emulated_source.latency);
  CHECK(d.poll_at() == never);
  const time_point begin{1h};
  d.start({emulated_id, 3, {}}, begin);
  CHECK(d.poll_at() == begin + 11ms);
  batch_outcome out;
  CHECK_FALSE(d.poll(begin + 11ms - 1ns, out));
  REQUIRE(d.poll(begin + 20ms, out));
  CHECK(out.errors.empty());
  CHECK(out.started_at == begin);
  CHECK(out.finished_at == begin + 11ms);
  CHECK_FALSE(d.poll(begin + 30ms, out));
  CHECK(d.poll_at() == never);
}

TEST_CASE("the output of an emulated batch follows from the input of the same part") {
  emulated_device d;
  d.load(emulated_id, emulated_source);
  const auto a = bytes(8, 1), b = bytes(16, 2);
  auto x = bytes(12, 0), y = bytes(24, 0), expected = bytes(24, 0);
  d.start({emulated_id, 3, {{1, a, x}, {2, b, y}}}, {});
  batch_outcome out;
  REQUIRE(d.poll(d.poll_at(), out));
  emulated_output(b, expected);
  CHECK(y == expected);
  uint64_t word = 0;
  std::memcpy(&word, x.data(), 8);
  CHECK(word == fnv1a(a));
  CHECK(std::memcmp(x.data() + 8, &word, 4) == 0);
  CHECK(fnv1a(a) != fnv1a(b));
}

TEST_CASE("FNV-1a gives its published values") {
  const auto of = [](std::string_view s) { return fnv1a(std::as_bytes(std::span{s})); };
  CHECK(of("") == 0xcbf29ce484222325);
  CHECK(of("a") == 0xaf63dc4c8601ec8c);
  CHECK(of("foobar") == 0x85944171f73967e8);
}

TEST_CASE("jitter makes batches longer by at most its fraction, the same for the same seed") {
  emulated_device a({0.1, 7}), b({0.1, 7}), other({0.1, 8});
  for (auto* d : {&a, &b, &other}) d->load(emulated_id, emulated_source);
  bool differs = false;
  duration min = 1h, max{};
  for (int i = 0; i < 200; ++i) {
    const time_point t{i * 1s};
    const auto took = run_batch(a, 5, t).finished_at - t;
    CHECK(run_batch(b, 5, t).finished_at - t == took);
    differs = differs || run_batch(other, 5, t).finished_at - t != took;
    min = std::min(min, took);
    max = std::max(max, took);
  }
  CHECK(differs);
  CHECK(min >= 15ms);
  CHECK(min < 15150us);
  CHECK(max > 16300us);
  CHECK(max <= 16500us);
}

TEST_CASE("an emulated model needs a signature and a latency") {
  emulated_device d;
  CHECK_THROWS_AS(d.load(emulated_id, {"m", "", {}, {1ms, 1ms}, 8}), model_error);
  auto unknown = emulated_source;
  unknown.latency = {};
  CHECK_THROWS_AS(d.load(emulated_id, unknown), model_error);
}

TEST_CASE("an emulated batch of an unloaded model ends at once, and every part fails") {
  emulated_device d;
  auto out_bytes = bytes(4, 0);
  const auto in = bytes(4, 1);
  d.start({emulated_id, 2, {{1, in, out_bytes}, {1, in, out_bytes}}}, time_point{1h});
  batch_outcome out;
  REQUIRE(d.poll(time_point{1h}, out));
  CHECK(out.errors == std::vector<std::string>(2, "the device has not loaded the model"));
  CHECK(out_bytes == bytes(4, 0));
}

TEST_CASE("a stopped emulated batch ends at once and writes nothing") {
  emulated_device d;
  d.load(emulated_id, emulated_source);
  const time_point begin{1h};
  const auto input = bytes(8, 3);
  auto output = bytes(12, 9);
  d.start({emulated_id, 1, {{1, input, output}}}, begin);
  d.stop(begin + 2ms);
  CHECK(d.poll_at() == begin + 2ms);
  batch_outcome out;
  REQUIRE(d.poll(begin + 3ms, out));
  CHECK(out.stopped);
  CHECK(out.started_at == begin);
  CHECK(out.finished_at == begin + 2ms);
  CHECK(output == bytes(12, 9));
  CHECK(d.poll_at() == never);
  d.stop(begin + 3ms);  // nothing runs

  d.start({emulated_id, 1, {{1, input, output}}}, begin + 3ms);  // ℓ(1) = 7 ms
  d.stop(begin + 10ms);                                          // it has ended already
  REQUIRE(d.poll(begin + 11ms, out));
  CHECK_FALSE(out.stopped);
  CHECK(out.finished_at == begin + 10ms);
  CHECK(output != bytes(12, 9));
}

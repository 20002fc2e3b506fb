#include "gpu/device/cpu_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/fixtures.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using troupe::onnx::fixture, troupe::onnx::fixture_path, troupe::onnx::relative_l2;

namespace {

constexpr model_id fixture_id{0};
constexpr duration never_stopped = duration::max();

/// The owner of a device waits on it.
class bell {
 public:
  void ring() {
    {
      const std::scoped_lock lock(mutex_);
      ++rings_;
    }
    changed_.notify_one();
  }
  void wait(int rings) {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, 60s, [&] { return rings_ >= rings; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int rings_ = 0;
};

model_source source_of(const std::string& name, latency_model latency, uint32_t max_batch = 8) {
  return {name, fixture_path(name), {}, latency, max_batch};
}

struct batch {
  batch(const fixture& f, uint32_t n)
      : rows(n), input(f.input_rows(n)), output(n * f.output_row / sizeof(float)) {}
  batch_work work(model_id m = fixture_id) {
    return {m, rows, {{rows, input, std::as_writable_bytes(std::span{output})}}};
  }
  uint32_t rows;
  std::vector<std::byte> input;
  std::vector<float> output;
};

}  // namespace

TEST_CASE("a cpu device notifies its owner of a finished batch, with correct outputs") {
  const machine_clock c;
  bell done;
  cpu_device d(c, [&] { done.ring(); });
  const auto loaded = d.load(fixture_id, source_of("resnet_a", {1ms, 1ms}));
  CHECK(loaded.latency == latency_model{1ms, 1ms});
  CHECK(loaded.layers > 3);
  CHECK(loaded.memory_bytes > 300'000);
  CHECK(loaded.signature.outputs.at(0).shape == std::vector<int64_t>{10});
  CHECK(d.poll_at() == never);

  const fixture f("resnet_a");
  batch_outcome out;
  CHECK_FALSE(d.poll(c.now(), out));
  for (const uint32_t rows : {5U, 1U, 7U, 11U}) {  // within the warmed sizes and beyond
    static int rings = 0;
    batch b(f, rows);
    const auto before = c.now();
    d.start(b.work(), before);
    done.wait(++rings);
    REQUIRE(d.poll(c.now(), out));
    CHECK(out.errors.empty());
    CHECK(before <= out.started_at);
    CHECK(out.started_at < out.finished_at);
    CHECK(out.finished_at <= c.now());
    CHECK(relative_l2(b.output, f.output_rows(rows)) < 1e-4);
    CHECK_FALSE(d.poll(c.now(), out));
  }
}

TEST_CASE("two cpu devices with a shared library run concurrently, with correct outputs") {
  const machine_clock c;
  bell done;
  const cpu_options options{1, std::make_shared<model_library>()};
  cpu_device a(
      c, [&] { done.ring(); }, options),
      b(
          c, [&] { done.ring(); }, options);
  for (auto* d : {&a, &b}) {
    d->load(model_id{0}, source_of("inception", {1ms, 1ms}));
    d->load(model_id{1}, source_of("encoder", {1ms, 1ms}));
  }
  const fixture images("inception"), texts("encoder");
  for (int i = 0; i < 20; ++i) {
    batch x(images, 4), y(texts, 5);
    a.start(x.work(model_id{0}), c.now());
    b.start(y.work(model_id{1}), c.now());
    done.wait(2 * (i + 1));
    batch_outcome out;
    REQUIRE(a.poll(c.now(), out));
    CHECK(out.errors.empty());
    REQUIRE(b.poll(c.now(), out));
    CHECK(out.errors.empty());
    CHECK(relative_l2(x.output, images.output_rows(4)) < 1e-4);
    CHECK(relative_l2(y.output, texts.output_rows(5)) < 1e-4);
  }
}

TEST_CASE("an unknown latency is measured") {
  const machine_clock c;
  cpu_device d(c, [] {});
  const auto loaded = d.load(fixture_id, source_of("mlp", {}, 4));
  CHECK(loaded.latency(1) > 0ns);
  CHECK(loaded.latency(4) < 1s);
}

TEST_CASE("a failed request gets an error, the other requests of its batch and the next batch run") {
  const machine_clock c;
  bell done;
  cpu_device d(c, [&] { done.ring(); });
  d.load(fixture_id, source_of("encoder", {1ms, 1ms}));
  const fixture f("encoder");
  batch bad(f, 2), good(f, 2);
  const int64_t token = -5000;
  std::memcpy(bad.input.data(), &token, sizeof token);
  auto both = bad.work();
  both.parts.push_back(good.work().parts.at(0));
  both.rows += 2;
  batch_outcome out;
  d.start(std::move(both), c.now());
  done.wait(1);
  REQUIRE(d.poll(c.now(), out));
  REQUIRE(out.errors.size() == 2);
  CHECK(out.errors[0] == "node '/e/Gather' (Gather): index -5000 is not in -200..199");
  CHECK(out.errors[1].empty());
  CHECK(relative_l2(good.output, f.output_rows(2)) < 1e-4);
  d.start(good.work(), c.now());
  done.wait(2);
  REQUIRE(d.poll(c.now(), out));
  CHECK(out.errors.empty());
  CHECK(relative_l2(good.output, f.output_rows(2)) < 1e-4);
}

TEST_CASE("a file that cannot be loaded is refused by name, and the device continues") {
  const machine_clock c;
  cpu_device d(c, [] {});
  CHECK_THROWS_WITH_AS(d.load(fixture_id, {"m", "/nowhere/m.onnx", {}, {}, 8}),
                       "/nowhere/m.onnx: No such file or directory", model_error);
  CHECK_THROWS_AS(d.load(fixture_id, {"m", fixture_path("mlp", ".json"), {}, {}, 8}), model_error);
  CHECK(d.load(fixture_id, source_of("mlp", {1ms, 1ms})).layers == 3);
}

TEST_CASE("batches that a cpu device cannot load are found by planning them") {
  plan_on_cpu(onnx::model::load(onnx::fixture_path("mlp")), 8);
  // y = x[0:3], which has as many rows as a batch of up to three
  const auto first_rows = std::make_shared<const onnx::model>(
      onnx::make_graph({8}, {{"c", "Slice", {"x", "zero", "three", "zero"}, {"y"}, {}}}, {"y"},
                       {{"zero", onnx::ints({1}, {0})}, {"three", onnx::ints({1}, {3})}}));
  plan_on_cpu(first_rows, 2);
  CHECK_THROWS_WITH_AS(plan_on_cpu(first_rows, 8),
                       doctest::Contains("output 'y' has shape [3, 8] for a batch of 4"), model_error);
}

TEST_CASE("destruction of a cpu device waits for its batch") {
  const machine_clock c;
  bell done;
  const fixture f("resnet_b");
  batch b(f, 8);
  {
    cpu_device d(c, [&] { done.ring(); });
    d.load(fixture_id, source_of("resnet_b", {1ms, 1ms}));
    d.start(b.work(), c.now());
  }
  CHECK(relative_l2(b.output, f.output_rows(8)) < 1e-4);
}

TEST_CASE("a batch of an unloaded model fails on a cpu device, and the next one runs") {
  const machine_clock c;
  bell done;
  cpu_device d(c, [&] { done.ring(); });
  d.load(fixture_id, source_of("mlp", {1ms, 1ms}));
  const fixture f("mlp");
  batch b(f, 2);
  batch_outcome out;
  d.start(b.work(model_id{7}), c.now());
  done.wait(1);
  REQUIRE(d.poll(c.now(), out));
  CHECK(out.errors == std::vector<std::string>{"the device has not loaded the model"});
  d.start(b.work(), c.now());
  done.wait(2);
  REQUIRE(d.poll(c.now(), out));
  CHECK(out.errors.empty());
}

TEST_CASE("a stopped batch on a cpu device ends early and writes nothing, and the next one runs") {
  const machine_clock c;
  bell done;
  cpu_device d(c, [&] { done.ring(); });
  d.load(fixture_id, source_of("inception", {1ms, 1ms}));
  const fixture f("inception");
  batch_outcome out;
  int rings = 0;
  const auto run = [&](batch& b, duration stopped_after) {
    d.start(b.work(), c.now());
    if (stopped_after != never_stopped) {
      std::this_thread::sleep_for(stopped_after);
      d.stop(c.now());
    }
    done.wait(++rings);
    REQUIRE(d.poll(c.now(), out));
    CHECK(out.errors.empty());
    return out.finished_at - out.started_at;
  };
  batch whole(f, 64), cut(f, 64), after(f, 8);
  run(whole, never_stopped);  // creates the plan
  const auto full = run(whole, never_stopped);
  CHECK_FALSE(out.stopped);
  // Stops a batch while it runs; on a busy machine the stop may come after the end, so several times.
  bool stopped = false;
  for (int tries = 0; tries < 50 && !stopped; ++tries) {
    std::ranges::fill(cut.output, 0.0f);
    run(cut, full / 4);
    stopped = out.stopped;
  }
  CHECK(stopped);
  CHECK(cut.output == std::vector<float>(cut.output.size()));
  d.stop(c.now());  // nothing runs
  run(after, never_stopped);
  CHECK_FALSE(out.stopped);
  CHECK(relative_l2(after.output, f.output_rows(8)) < 1e-4);
}

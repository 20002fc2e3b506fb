// Uses a model with scripted batches; cpu_device_test.cpp tests with real models.
#include "gpu/device/computing_device.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/common/device_lost.hpp"
#include "gpu/common/model_error.hpp"

using namespace troupe;

namespace {

constexpr model_id scripted_id{0};
constexpr std::byte fails{0xff}, loses{0xfe}, waits{0xfd};  // as a row's first byte

/// Shared record and control of a device's models.
struct script {
  void note(const std::string& what) {
    const std::scoped_lock lock(mutex);
    log.push_back(what);
    changed.notify_all();
  }
  std::vector<std::string> taken() {
    const std::scoped_lock lock(mutex);
    return std::exchange(log, {});
  }
  void wait_for(const std::string& what) {
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, 60s, [&] { return std::ranges::find(log, what) != log.end(); }));
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> log;
  std::atomic<bool> go_on = false;             // for batches with a waiting row
  std::atomic<uint32_t> too_large = 0;         // no memory for batches with this many rows
  std::atomic<duration> fixed{}, row_takes{};  // what a batch takes, by the stage's clock
  std::atomic<duration> taken_time{};
  std::atomic<bool> warms_by_running = false;
  std::atomic<int> runs = 0;
  std::thread::id loaded_by, run_by;
};

/// Rows of one byte; an output is its input plus one.
class scripted_model final : public batch_model {
 public:
  scripted_model(const model_source& source, script& s) : name_(source.name), script_(s) {
    if (source.path.empty()) throw model_error("no file");
    script_.loaded_by = std::this_thread::get_id();
  }
  ~scripted_model() override { script_.note("freed " + name_); }
  const model_signature& signature() const override { return signature_; }
  uint64_t memory_bytes() const override { return 100 + 10 * warmed_; }
  uint32_t layers() const override { return 3; }
  void warm(uint32_t rows) override {
    ++warmed_;
    script_.note("warmed " + std::to_string(rows));
  }
  bool warms_by_running() const override { return script_.warms_by_running; }
  void take_turns() override {
    script_.note("takes turns");
    ++warmed_;
  }
  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>* stop) override {
    script_.run_by = std::this_thread::get_id();
    uint32_t sum = 0;
    for (const auto& p : parts) sum += p.rows;
    CHECK(sum == rows);
    script_.taken_time = script_.taken_time.load() + script_.fixed.load() + rows * script_.row_takes.load();
    ++script_.runs;
    if (stop != nullptr) script_.note("ran " + std::to_string(rows));
    if (rows == script_.too_large) throw std::runtime_error("no room");
    for (const auto& p : parts) {
      if (p.input[0] == loses) throw device_lost("an illegal address");
      if (p.input[0] == fails) throw std::runtime_error("such a value");
      while (p.input[0] == waits && !script_.go_on) {
        if (stop != nullptr && *stop) return false;
        std::this_thread::yield();
      }
    }
    for (const auto& p : parts)
      std::ranges::transform(p.input, p.output.begin(),
                             [](std::byte b) { return static_cast<std::byte>(static_cast<int>(b) + 1); });
    return true;
  }

 private:
  const std::string name_;
  const model_signature signature_{{{"in", data_type::uint8, {1}}}, {{"out", data_type::uint8, {1}}}};
  script& script_;
  uint64_t warmed_ = 0;
};

/// The machine's, and what batches are said to take.
struct scripted_clock final : clock {
  explicit scripted_clock(const script& s) : said(s) {}
  time_point now() const override { return machine.now() + said.taken_time.load(); }
  const script& said;
  const machine_clock machine;
};

struct stage {
  stage()
      : device(
            time,
            [this] {
              said.note("ready");
              if (on_ready) on_ready();
            },
            [this](const model_source& s) { return std::make_unique<scripted_model>(s, said); }) {}

  loaded_model load(const std::string& name = "m", latency_model latency = {1ms, 1ms},
                    uint32_t max_batch = 4) {
    return device.load(scripted_id, {name, name + ".onnx", {}, latency, max_batch});
  }
  /// Starts a batch with one part of one row for each value.
  void start(std::vector<std::byte> values) {
    input = std::move(values);
    output.assign(input.size(), std::byte{0});
    batch_work work{scripted_id, static_cast<uint32_t>(input.size()), {}};
    for (size_t i = 0; i < input.size(); ++i)
      work.parts.push_back({1, std::span{input}.subspan(i, 1), std::span{output}.subspan(i, 1)});
    device.start(std::move(work), time.now());
  }
  batch_outcome end() {
    said.wait_for("ready");
    batch_outcome out;
    CHECK(device.poll(time.now(), out));
    batch_outcome again;
    CHECK_FALSE(device.poll(time.now(), again));
    return out;
  }
  batch_outcome run(std::vector<std::byte> values) {
    said.taken();
    start(std::move(values));
    return end();
  }

  script said;
  const scripted_clock time{said};
  std::vector<std::byte> input, output;
  std::function<void()> on_ready;  // on the device's thread
  computing_device device;         // last: its thread uses the others
};

constexpr std::byte operator""_b(unsigned long long v) { return static_cast<std::byte>(v); }

}  // namespace

TEST_CASE("computing device: loads and warms a model on the caller's thread, runs batches on its own") {
  stage s;
  const auto loaded = s.load("m", {1ms, 2ms}, 6);
  CHECK(s.said.taken() ==
        std::vector<std::string>{"warmed 1", "warmed 2", "warmed 4", "warmed 6", "takes turns"});
  CHECK(loaded.memory_bytes == 150);  // including the plans
  CHECK(loaded.layers == 3);
  CHECK(loaded.latency == latency_model{1ms, 2ms});
  CHECK(loaded.signature.inputs.at(0).name == "in");
  const auto out = s.run({1_b, 7_b});
  CHECK(out.errors.empty());
  CHECK_FALSE(out.stopped);
  CHECK(out.lost.empty());
  CHECK(out.started_at <= out.finished_at);
  CHECK(s.output == std::vector<std::byte>{2_b, 8_b});
  CHECK(s.said.loaded_by == std::this_thread::get_id());
  CHECK(s.said.run_by != std::this_thread::get_id());
}

TEST_CASE("computing device: an unknown latency is measured") {
  stage s;
  CHECK(s.load("m", {}, 1).latency(1) > 0ns);
}

TEST_CASE("computing device: batches beyond the first that takes more than half a second are not measured") {
  stage s;
  s.said.fixed = 500ms;
  s.said.row_takes = 100ms;
  const auto measured = s.load("m", {}, 64).latency;
  CHECK(to_ms(measured(64)) == doctest::Approx(500 + 64 * 100).epsilon(0.01));
  CHECK(s.said.runs == 4);            // two sizes, each after a warm-up
  CHECK(s.said.taken().size() == 8);  // all are warmed
}

TEST_CASE("computing device: what takes more than half a second is not warmed by running") {
  stage s;
  s.said.warms_by_running = true;
  s.load("m", {150ms, 0ms}, 64);
  CHECK(s.said.taken() == std::vector<std::string>{"warmed 1", "warmed 2", "warmed 4", "takes turns"});
  s.said.row_takes = 300ms;
  s.load("m", {}, 64);
  CHECK(s.said.taken() == std::vector<std::string>{"warmed 1", "warmed 2", "takes turns", "freed m"});
}

TEST_CASE("computing device: a failed part gets an error, the other parts and the next batch run") {
  stage s;
  s.load();
  const auto out = s.run({1_b, fails, 3_b});
  CHECK(out.errors == std::vector<std::string>{"", "such a value", ""});
  CHECK(s.output == std::vector<std::byte>{2_b, 0_b, 4_b});
  CHECK(s.said.taken() == std::vector<std::string>{"ran 3", "ran 1", "ran 1", "ran 1", "ready"});
  CHECK(s.run({5_b}).errors.empty());
}

TEST_CASE("computing device: a batch without room runs part by part") {
  stage s;
  s.load();
  s.said.too_large = 2;
  const auto out = s.run({1_b, 2_b});
  CHECK(out.errors == std::vector<std::string>{"", ""});
  CHECK(s.output == std::vector<std::byte>{2_b, 3_b});
}

TEST_CASE("computing device: after a loss no part is tried again, and the loss is reported") {
  stage s;
  s.load();
  const auto out = s.run({1_b, loses});
  CHECK(out.lost == "an illegal address");
  CHECK(s.said.taken() == std::vector<std::string>{"ran 2", "ready"});
}

TEST_CASE("computing device: after a loss in a retried part no other part is retried") {
  stage s;
  s.load();
  CHECK(s.run({fails, loses, 1_b}).lost == "an illegal address");
  CHECK(s.said.taken() == std::vector<std::string>{"ran 3", "ran 1", "ran 1", "ready"});
}

TEST_CASE("computing device: a loss during a load is reported by the load") {
  script said;
  const machine_clock time;
  computing_device d(
      time, [] {}, [](const model_source&) -> std::unique_ptr<batch_model> { throw device_lost("gone"); });
  CHECK_THROWS_WITH_AS(d.load(scripted_id, {"m", "m.onnx", {}, {1ms, 1ms}, 1}), "gone", device_lost);
}

TEST_CASE("computing device: a stopped batch ends without output, and the next one runs") {
  stage s;
  s.load();
  s.device.stop(s.time.now());  // nothing runs
  s.said.taken();
  s.start({waits});
  s.said.wait_for("ran 1");
  s.device.stop(s.time.now());
  const auto out = s.end();
  CHECK(out.stopped);
  CHECK(out.errors.empty());
  CHECK(s.output == std::vector<std::byte>{0_b});
  CHECK_FALSE(s.run({1_b}).stopped);
  CHECK(s.output == std::vector<std::byte>{2_b});
}

TEST_CASE("computing device: a replacement is loaded beside the old model, which is then released") {
  stage s;
  s.load("old");
  s.said.taken();
  s.load("new");
  CHECK(s.said.taken() ==
        std::vector<std::string>{"warmed 1", "warmed 2", "warmed 4", "takes turns", "freed old"});
  CHECK(s.run({1_b}).errors.empty());
}

TEST_CASE("computing device: a failed load leaves the old model in place") {
  stage s;
  s.load();
  CHECK_THROWS_WITH_AS(s.device.load(scripted_id, {"n", "", {}, {1ms, 1ms}, 1}), "no file", model_error);
  CHECK(s.run({1_b}).errors.empty());
}

TEST_CASE("computing device: an unloaded model is freed at once, and its batches fail") {
  stage s;
  s.load();
  s.said.taken();
  s.device.unload(scripted_id);
  CHECK(s.said.taken() == std::vector<std::string>{"freed m"});
  s.device.unload(scripted_id);
  CHECK(s.run({1_b, 2_b}).errors == std::vector<std::string>(2, "the device has not loaded the model"));
}

TEST_CASE("computing device: whoever is told of a batch may take it, start the next and unload the model") {
  stage s;
  s.load();
  s.said.taken();
  bool first = true;
  s.on_ready = [&] {
    batch_outcome out;
    CHECK(s.device.poll(s.time.now(), out));
    if (std::exchange(first, false)) return s.start({1_b});
    s.device.unload(scripted_id);
    s.said.note("unloaded");
  };
  s.start({2_b});
  s.said.wait_for("unloaded");
  CHECK(s.said.taken() ==
        std::vector<std::string>{"ran 1", "ready", "ran 1", "ready", "freed m", "unloaded"});
}

TEST_CASE("computing device: a batch continues while another model loads") {
  stage s;
  s.load();
  s.start({waits});
  s.device.load(model_id{1}, {"other", "other.onnx", {}, {1ms, 1ms}, 1});
  batch_outcome out;
  CHECK_FALSE(s.device.poll(s.time.now(), out));
  s.said.go_on = true;
  s.device.finish();
  CHECK(s.end().errors.empty());
}

TEST_CASE("computing device: destruction waits for the batch") {
  std::vector<std::byte> input{1_b}, output{0_b};
  script said;
  const machine_clock time;
  {
    computing_device d(
        time, [] {}, [&](const model_source& s) { return std::make_unique<scripted_model>(s, said); });
    d.load(scripted_id, {"m", "m.onnx", {}, {1ms, 1ms}, 1});
    d.start({scripted_id, 1, {{1, input, output}}}, time.now());
  }
  CHECK(output[0] == 2_b);
}

// Refusals of a model while its device runs; other behaviour is tested with real models
// (cpu_engine_device_test.cpp, tests/gpu/llm/cuda/cuda_decoder_engine_test.cpp).
#include "gpu/llm/computing_engine_device.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <deque>
#include <new>
#include <thread>

#include "gpu/common/device_lost.hpp"
#include "gpu/llm/image_set.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"
#include "tests/gpu/llm/small_engine.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

/// A CPU model that has no memory for some adapters, and gets lost.
class failing_step_model final : public step_model {
 public:
  /// Numbers of the adapters, steps and layers that fail, counted from 1.
  struct refusals {
    int when_packed = 0, when_taken = 0;
    int lost_when_packed = 0, lost_when_run = 0, lost_when_loaded = 0;
    std::thread::id packed_by = {}, taken_by = {};
  };
  failing_step_model(std::unique_ptr<step_model> inner, refusals& refused)
      : inner_(std::move(inner)), refused_(refused) {}

  engine_facts facts() const override { return inner_->facts(); }
  uint64_t load(uint32_t layer, const layer_parameters& parameters) override {
    if (++loaded_ == refused_.lost_when_loaded) throw_lost();
    return inner_->load(layer, parameters);
  }
  std::shared_ptr<const packed_adapter> pack(const adapter& read) override {
    refused_.packed_by = std::this_thread::get_id();
    if (++packed_ == refused_.when_packed) throw std::bad_alloc();
    if (packed_ == refused_.lost_when_packed) throw_lost();
    return inner_->pack(read);
  }
  void load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) override {
    refused_.taken_by = std::this_thread::get_id();
    if (++taken_ == refused_.when_taken) throw std::runtime_error("the GPU is full");
    inner_->load(id, std::move(adapter));
  }
  void unload(adapter_id id) override { inner_->unload(id); }
  void begin(const llm_step& step, std::span<const token_sampling> samplings, uint32_t first, uint32_t end,
             activation* x) override {
    inner_->begin(step, samplings, first, end, x);
  }
  bool is_ready() override { return inner_->is_ready(); }
  bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) override {
    if (++run_ == refused_.lost_when_run) throw_lost();
    return inner_->finish(chosen, stopping);
  }
  kv_cache_memory kv_memory() override { return inner_->kv_memory(); }

 private:
  static void throw_lost() { throw device_lost("the GPU has fallen off the bus"); }

  std::unique_ptr<step_model> inner_;
  refusals& refused_;
  int packed_ = 0, taken_ = 0, run_ = 0, loaded_ = 0;
};

/// A model that computes nothing, and takes a step ahead. A step samples its number of rows as the token, and
/// ends when it is released.
class slow_model final : public step_model {
 public:
  struct control {
    std::atomic<int> started = 0, may_end = 0;
    int fails_to_begin = 0, fails_to_end = 0;  ///< number of the failing step, counted from 1
    std::atomic<uint32_t> adopted = 0;
  };
  explicit slow_model(control& c) : c_(c) {}

  engine_facts facts() const override {
    return {.blocks = 4, .block_tokens = 16, .block_bytes = 1, .end_of_text = {}, .steps_ahead = 1};
  }
  uint64_t load(uint32_t, const layer_parameters&) override { return 1; }
  uint64_t adopt(uint32_t, const std::shared_ptr<const image_set>&) override {
    ++c_.adopted;
    std::this_thread::sleep_for(50ms);
    return 1;
  }
  std::shared_ptr<const packed_adapter> pack(const adapter&) override { return nullptr; }
  void load(adapter_id, std::shared_ptr<const packed_adapter>) override {}
  void unload(adapter_id) override {}
  void begin(const llm_step& step, std::span<const token_sampling>, uint32_t, uint32_t,
             activation*) override {
    if (++c_.started == c_.fails_to_begin) throw std::bad_alloc();
    rows_.push_back(step.rows());
  }
  bool is_ready() override { return c_.may_end > ended_; }
  bool finish(std::vector<chosen_token>& chosen, const std::atomic<bool>&) override {
    if (++ended_ == c_.fails_to_end) {
      rows_.clear();
      throw std::runtime_error("a bit has tipped over");
    }
    chosen.assign(1, {static_cast<token>(rows_.front()), 0, {}, true});
    rows_.pop_front();
    return true;
  }
  kv_cache_memory kv_memory() override { return {}; }

 private:
  control& c_;
  std::deque<uint32_t> rows_;
  int ended_ = 0;
};

/// A device with that model loaded, and steps of 1, 2, 3 and 4 rows for it.
struct slow_device {
  explicit slow_device(slow_model::control& c) : control(c), device(options(c)) {
    CHECK(device.next().facts.steps_ahead == 1);
    for (uint32_t rows = 1; rows <= 4; ++rows) {
      auto& s = steps[rows - 1];
      s.tokens.assign(rows, 1), s.positions.assign(rows, 0), s.row_sequence.assign(rows, 0);
      s.sequences = {sequence_id{1}}, s.block_start = {0, 1}, s.blocks = {0};
      s.segment_end = {0, rows}, s.segment_adapters = {base_model}, s.sampled = {0};
    }
    sampling.params = &greedy;
  }
  static computing_options options(slow_model::control& control) {
    computing_options o;
    o.folder = fixtures / "llama-tasks/base";
    o.make = [&control](const model_config&) { return std::make_unique<slow_model>(control); };
    return o;
  }
  void start(int rows) { device->start(steps[rows - 1], {&sampling, 1}); }
  void started(int count) const {
    while (control.started < count) std::this_thread::yield();
  }
  token chosen() { return device.next().chosen.at(0).which; }

  slow_model::control& control;
  waited_device device;
  llm_step steps[4];
  const sampling_params greedy{.temperature = 0, .biases = {}};
  token_sampling sampling;
};

computing_options crowded(failing_step_model::refusals& refused) {
  auto options = on_cpu({.folder = fixtures / "llama-tasks/base", .kv_bytes = 1 << 20, .adapter_slots = 2});
  options.images = nullptr;  // the model loads its layers itself
  options.make = [make = options.make, &refused](const model_config& config) -> std::unique_ptr<step_model> {
    return std::make_unique<failing_step_model>(make(config), refused);
  };
  return options;
}

void check_lost(waited_device& d) {
  const auto e = d.next();
  CHECK(e.what == engine_event::kind::lost);
  CHECK(e.problem == "the GPU has fallen off the bus");
  engine_event after;
  CHECK(d.quiet(after));
}

}  // namespace

TEST_CASE("a device that is lost in a step reports the loss, and nothing more") {
  failing_step_model::refusals refused{.lost_when_run = 1};
  waited_device d(crowded(refused));
  CHECK(d.next().what == engine_event::kind::loaded);
  llm_step s;
  s.tokens = {1}, s.positions = {0}, s.row_sequence = {0}, s.sequences = {sequence_id{1}},
  s.block_start = {0, 1};
  s.blocks = {0}, s.segment_end = {0, 1}, s.segment_adapters = {base_model}, s.sampled = {0};
  const sampling_params greedy{.temperature = 0, .biases = {}};
  token_sampling sampling;
  sampling.params = &greedy;
  d->start(s, {&sampling, 1});
  check_lost(d);
}

TEST_CASE("a device that is lost while it loads a model or an adapter reports the loss") {
  failing_step_model::refusals refused{.lost_when_loaded = 2};
  waited_device loading(crowded(refused));
  check_lost(loading);

  refused = {.lost_when_packed = 1};
  waited_device packing(crowded(refused));
  CHECK(packing.next().what == engine_event::kind::loaded);
  packing->load_adapter(adapter_id{1}, adapter_of("sort"));
  check_lost(packing);
}

TEST_CASE("an adapter without room fails with the reason, the next one loads, steps continue") {
  failing_step_model::refusals refused{.when_packed = 1, .when_taken = 1};
  waited_device d(crowded(refused));
  CHECK(d.next().what == engine_event::kind::loaded);
  for (const std::string& problem : {adapter_of("sort") + ": the adapter does not fit into memory",
                                     std::string("the GPU is full"), std::string()}) {
    CAPTURE(problem);
    d->load_adapter(adapter_id{1}, adapter_of("sort"));
    const auto e = d.next();
    CHECK(e.what ==
          (problem.empty() ? engine_event::kind::adapter_ready : engine_event::kind::adapter_failed));
    CHECK(e.problem == problem);
    CHECK((e.bytes > 0) == problem.empty());
  }
  CHECK(refused.packed_by != refused.taken_by);  // packed in parallel to steps
}

TEST_CASE("a device that stops does not take the other layers of images that are ready") {
  const std::vector<uint64_t> layer_bytes(8, 64);
  const auto images = std::make_shared<image_set>(layer_bytes, image_format{});
  while (!images->complete()) images->finish_layer();
  slow_model::control control;
  auto options = slow_device::options(control);
  options.images = [&] { return images; };
  waited_device d(std::move(options));
  const auto first = d.next_of_all();
  CHECK(first.what == engine_event::kind::layers_ready);
  CHECK(first.facts.layers_ready == 1);
  d->stop();
  CHECK(control.adopted < images->layers());
}

TEST_CASE("a step begins while one runs, and both are reported in order") {
  slow_model::control control;
  slow_device d(control);
  d.start(1), d.start(2);
  d.started(2);
  engine_event early;
  CHECK(d.device.quiet(early));
  control.may_end = 1;
  CHECK(d.chosen() == 1);
  d.start(3);
  d.started(3);
  control.may_end = 3;
  CHECK(d.chosen() == 2);
  CHECK(d.chosen() == 3);
}

TEST_CASE("a failed step fails the steps behind it, which are not reported") {
  slow_model::control control{.fails_to_end = 2};
  slow_device d(control);
  d.start(1), d.start(2);
  control.may_end = 1;
  CHECK(d.chosen() == 1);
  d.start(3);
  d.started(3);
  control.may_end = 2;
  const auto failed = d.device.next();
  CHECK(failed.what == engine_event::kind::step_failed);
  CHECK(failed.problem == "a bit has tipped over");
  control.may_end = 3;
  d.start(4);
  CHECK(d.chosen() == 4);
  engine_event more;
  CHECK(d.device.quiet(more));
}

TEST_CASE("a step that fails to begin is reported after the step before it") {
  slow_model::control control{.fails_to_begin = 2};
  slow_device d(control);
  d.start(1), d.start(2);
  d.started(2);
  CHECK(d.chosen() == 1);
  const auto failed = d.device.next();
  CHECK(failed.what == engine_event::kind::step_failed);
  CHECK(failed.problem == "a step of 2 tokens does not fit into memory");
  control.may_end = 2;
  d.start(3);
  CHECK(d.chosen() == 3);
}

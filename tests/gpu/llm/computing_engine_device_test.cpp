// What a model refuses while its device runs; the rest is tested with the models themselves
// (cpu_engine_device_test.cpp, tests/gpu/cuda/llm/cuda_model_test.cpp).
#include "gpu/llm/computing_engine_device.hpp"

#include <doctest/doctest.h>

#include <new>
#include <thread>

#include "gpu/device_lost.hpp"
#include "tests/gpu/checkpoint/files.hpp"
#include "tests/gpu/llm/small_engine.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

/// A model on a CPU on which there is no room for some adapters.
class crowded_model final : public step_model {
 public:
  /// Of adapters and steps, as they come, from 1 on.
  struct refusals {
    int when_packed = 0, when_taken = 0, when_run = 0;
    std::thread::id packed_by = {}, taken_by = {};
  };
  crowded_model(std::unique_ptr<step_model> inner, refusals& refused)
      : inner_(std::move(inner)), refused_(refused) {}

  engine_facts facts() const override { return inner_->facts(); }
  uint64_t load(uint32_t layer, const layer_parameters& parameters) override {
    return inner_->load(layer, parameters);
  }
  std::shared_ptr<const packed_adapter> pack(const adapter& read) override {
    refused_.packed_by = std::this_thread::get_id();
    if (++packed_ == refused_.when_packed) throw std::bad_alloc();
    return inner_->pack(read);
  }
  void load(adapter_id id, std::shared_ptr<const packed_adapter> adapter) override {
    refused_.taken_by = std::this_thread::get_id();
    if (++taken_ == refused_.when_taken) throw std::runtime_error("the GPU is full");
    inner_->load(id, std::move(adapter));
  }
  void unload(adapter_id id) override { inner_->unload(id); }
  bool run(const llm_step& step, std::span<const choice_wish> wishes, uint32_t first, uint32_t end,
           activation* x, std::vector<chosen_token>& chosen, const std::atomic<bool>& stopping) override {
    if (++run_ == refused_.when_run) throw device_lost("the GPU has fallen off the bus");
    return inner_->run(step, wishes, first, end, x, chosen, stopping);
  }
  std::span<std::byte> kv_memory() override { return inner_->kv_memory(); }

 private:
  std::unique_ptr<step_model> inner_;
  refusals& refused_;
  int packed_ = 0, taken_ = 0, run_ = 0;
};

std::string adapter_of(const std::string& name) {
  return (fixtures / "llama-tasks/adapters" / name).string();
}

computing_options crowded(crowded_model::refusals& refused) {
  auto options = on_cpu({.folder = fixtures / "llama-tasks/base", .kv_bytes = 1 << 20, .adapter_slots = 2});
  options.make = [make = options.make, &refused](const model_config& config) -> std::unique_ptr<step_model> {
    return std::make_unique<crowded_model>(make(config), refused);
  };
  return options;
}

}  // namespace

TEST_CASE("a device that is lost in a step says so, and nothing more") {
  crowded_model::refusals refused{.when_run = 1};
  waited_device d(crowded(refused));
  CHECK(d.next().what == engine_event::kind::loaded);
  llm_step s;
  s.tokens = {1}, s.positions = {0}, s.row_sequence = {0}, s.sequences = {sequence_id{1}},
  s.block_start = {0, 1};
  s.blocks = {0}, s.segment_end = {0, 1}, s.segment_adapters = {base_model}, s.sampled = {0};
  const sampling greedy{.temperature = 0, .biases = {}};
  choice_wish wish;
  wish.how = &greedy;
  d->start(s, {&wish, 1});
  const auto e = d.next();
  CHECK(e.what == engine_event::kind::lost);
  CHECK(e.problem == "the GPU has fallen off the bus");
  engine_event after;
  CHECK(d.quiet(after));
}

TEST_CASE("an adapter for which there is no room fails with the reason, the next one comes, steps go on") {
  crowded_model::refusals refused{.when_packed = 1, .when_taken = 1};
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
  CHECK(refused.packed_by != refused.taken_by);  // packed beside steps
}

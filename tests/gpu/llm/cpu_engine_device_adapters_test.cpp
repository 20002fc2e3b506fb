// Adapters of a CPU device: loading, unloading, and failures.
#include "gpu/llm/cpu_engine_device.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <thread>

#include "gpu/llm/adapter_weights.hpp"
#include "tests/gpu/llm/golden_sequences.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"

using namespace troupe;
using namespace troupe::llm;
using kind = engine_event::kind;

TEST_CASE("adapters take turns in fewer slots, and the tokens are the golden ones") {
  for (const uint64_t kept : {uint64_t{1} << 30, uint64_t{0}}) {
    CAPTURE(kept);
    auto o = options_of(2);
    o.adapter_bytes = kept;
    small_engine engine(o, {.max_sequences = 3, .prefill_chunk = 16});
    const auto all = golden_sequences(engine.facts());
    for (const auto& t : all) engine.add(t.asked);
    engine.run();
    for (size_t i = 0; i < all.size(); ++i) CHECK(engine.tokens(i) == all[i].output);
    CHECK(engine.loads() > 4);
    CHECK(engine.reads() == (kept > 0 ? 4 : engine.loads()));
  }
}

TEST_CASE("loads and unloads of other adapters do not change a sequence's bits") {
  const asked_sequence long_sequence{
      .prompt = {1, 265, 260, 274}, .adapter = adapter_of("sort"), .max_tokens = 300};
  small_engine quiet(options_of(4), {});
  quiet.add(long_sequence);
  quiet.run();
  REQUIRE(quiet.tokens(0).size() == 300);

  small_engine busy(options_of(4), {});
  busy.add(long_sequence);
  uint32_t steps = 0;
  busy.run([&] {
    const adapter_id a{100}, b{101};
    if (steps % 4 == 0) busy.device()->load_adapter(a, adapter_of("reverse"));
    if (steps % 4 == 1) busy.device()->load_adapter(b, adapter_of("upper"));
    if (steps % 4 == 2) busy.device()->unload_adapter(b);
    if (steps % 4 == 3) busy.device()->unload_adapter(a);
    ++steps;
  });
  CHECK(steps >= 300);
  CHECK(busy.others() > 0);
  CHECK(bits_of(busy.chosen(0)) == bits_of(quiet.chosen(0)));
}

TEST_CASE("an adapter that is unloaded during its load is not reported, and its id can be reused") {
  waited_device d(options_of(2));
  REQUIRE(d.next().what == kind::loaded);
  for (int i = 0; i < 50; ++i) {
    d->load_adapter(adapter_id{1}, adapter_of("sort"));
    if (i % 3 == 1) std::this_thread::yield();
    if (i % 3 == 2) {
      // regardless of the second one: the first is ready or failed by then
      d->load_adapter(adapter_id{2}, adapter_of("nowhere"));
      engine_event e = d.next();
      while (e.adapter != adapter_id{2}) e = d.next();
    }
    d->unload_adapter(adapter_id{1});
  }
  d->load_adapter(adapter_id{1}, adapter_of("upper"));
  auto e = d.next();
  CHECK(e.what == kind::adapter_ready);
  CHECK(e.adapter == adapter_id{1});
  const auto model = read_model_config(llama / "base");
  CHECK(e.bytes ==
        adapter_weights(read_adapter(adapter_of("upper"), model), model.layers, element::f32).bytes());
  CHECK(d.quiet(e));
}

TEST_CASE("an adapter that is only read takes no slot, and its later load reads no files") {
  waited_device d(options_of(1));
  d->read_adapter(adapter_id{1}, adapter_of("sort"));
  d->read_adapter(adapter_id{2}, "/nowhere");
  d->load_adapter(adapter_id{3}, adapter_of("upper"));
  std::map<uint32_t, engine_event> events;  // the model's event has none
  for (int i = 0; i < 4; ++i) {
    const auto e = d.next();
    events[e.adapter.value] = e;
  }
  CHECK(events[0].what == kind::loaded);
  CHECK(events[1].what == kind::adapter_read);
  CHECK(events[1].problem.empty());
  CHECK(events[1].from_disk);
  CHECK(events[2].what == kind::adapter_read);
  CHECK(events[2].problem == "/nowhere/adapter_config.json: No such file or directory");
  CHECK(events[3].what == kind::adapter_ready);
  d->unload_adapter(adapter_id{3});
  d->load_adapter(adapter_id{1}, adapter_of("sort"));
  d->read_adapter(adapter_id{1}, adapter_of("sort"));
  auto e = d.next();
  CHECK(e.what == kind::adapter_ready);
  CHECK_FALSE(e.from_disk);
  d->unload_adapter(adapter_id{1});  // the load is reported nevertheless
  e = d.next();
  CHECK(e.what == kind::adapter_read);
  CHECK(e.adapter == adapter_id{1});
}

TEST_CASE("a step with an unloaded adapter fails, and the device continues") {
  waited_device d(options_of(1));
  REQUIRE(d.next().what == kind::loaded);
  d->load_adapter(adapter_id{7}, adapter_of("sort"));
  REQUIRE(d.next().what == kind::adapter_ready);
  const auto with = one_row_step(1, 0, adapter_id{7}), without = one_row_step(1, 0);
  d->start(with, one_sampling);
  auto e = d.next();
  CHECK(e.what == kind::step_done);
  CHECK(e.took > 0ns);
  d->unload_adapter(adapter_id{7});
  d->start(with, one_sampling);
  e = d.next();
  CHECK(e.what == kind::step_failed);
  CHECK(e.problem == "a step needs adapter 7, which is not on the device");
  CHECK(e.chosen.empty());
  d->start(without, one_sampling);
  e = d.next();
  CHECK(e.what == kind::step_done);
  CHECK(e.chosen.size() == 1);
}

TEST_CASE("a broken adapter fails with the reason, and the others continue") {
  const temporary_folder broken;
  std::filesystem::copy(adapter_of("sort"), broken.path);
  std::filesystem::resize_file(broken.path / "adapter_model.safetensors", 5000);
  small_engine engine(options_of(2), {});
  const auto all = golden_sequences(engine.facts());
  for (const auto& t : all) engine.add(t.asked);
  const auto lost = engine.add({.prompt = {1, 2}, .adapter = broken.path.string()});
  const auto none = engine.add({.prompt = {1, 2}, .adapter = "/nowhere"});
  engine.run();
  for (size_t i = 0; i < all.size(); ++i) CHECK(engine.tokens(i) == all[i].output);
  CHECK(engine.tokens(lost).empty());
  CHECK(engine.tokens(none).empty());
  CHECK(engine.failed().size() == 2);
  CHECK(engine.failed().at("/nowhere") == "/nowhere/adapter_config.json: No such file or directory");
  CHECK(engine.failed()
            .at(broken.path.string())
            .starts_with((broken.path / "adapter_model.safetensors").string()));
}

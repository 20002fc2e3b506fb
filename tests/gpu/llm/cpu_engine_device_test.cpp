// Greedy tokens against the outputs of Transformers and PEFT (tests/fixtures/llama-tasks).
#include "gpu/llm/cpu_engine_device.hpp"

#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "gpu/llm/image_library.hpp"
#include "tests/gpu/checkpoint/files.hpp"
#include "tests/gpu/llm/golden_sequences.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"

using namespace troupe;
using namespace troupe::llm;
using kind = engine_event::kind;

TEST_CASE("engines of one checkpoint share its images, and compute the same tokens") {
  auto options = options_of(1);
  options.library = std::make_shared<image_library>();
  small_engine one(options, {}), other(options, {});
  const auto images = options.library->open(options.folder, options.weights, 1);
  CHECK(images.use_count() > 1 + 2);  // this, and a decoder's layers of each engine
  CHECK(images->ready() == images->layers());
  one.add({.prompt = {5, 17, 40, 3}});
  other.add({.prompt = {5, 17, 40, 3}});
  one.run();
  other.run();
  CHECK(one.tokens(0) == other.tokens(0));
}

TEST_CASE("a device describes its model") {
  auto o = options_of(0, 10);
  o.kv_bytes += block_bytes - 1;
  waited_device d(o);
  const auto e = d.next();
  REQUIRE(e.what == kind::loaded);
  CHECK(e.facts.vocabulary == 354);
  CHECK(e.facts.max_positions == 512);
  CHECK(e.facts.blocks == 10);
  CHECK(e.facts.block_tokens == 4);
  CHECK(e.facts.end_of_text == read_model_config(llama / "base").eos);
  const auto stored = std::filesystem::file_size(llama / "base/model.safetensors");
  CHECK(e.facts.weight_bytes > stored);  // the file has 16 bits, the device 32
  CHECK(e.facts.weight_bytes < 3 * stored);
}

TEST_CASE("sequences of all adapters in one batch get the tokens of Transformers, also with preemptions") {
  for (const uint32_t blocks : {256U, 16U}) {
    CAPTURE(blocks);
    small_engine engine(options_of(4, blocks), {.max_sequences = 32, .prefill_chunk = 7});
    const auto all = golden_sequences(engine.facts());
    for (const auto& t : all) engine.add(t.asked);
    engine.run();
    for (size_t i = 0; i < all.size(); ++i) CHECK(engine.tokens(i) == all[i].output);
    CHECK(engine.loads() == 4);
    CHECK((engine.preemptions() > 0) == (blocks == 16));
  }
}

TEST_CASE("a step runs on the loaded layers while the others load") {
  const auto step = one_row_step(265, 0);
  waited_device whole(options_of(0));
  const auto facts = whole.next().facts;
  CHECK(facts.layers_ready == facts.layers);
  whole->start(step, one_sampling);
  const auto expected = bits_of(whole.next().chosen);
  REQUIRE(expected.size() == 1);

  const checkpoint files(llama / "base");
  const image_format format{element::f32, files.view(0).find("embed_tokens.weight")->type};
  const layer_images layout(files.config(), format);
  const auto images = std::make_shared<image_set>(image_bytes(files.config(), format), format);
  auto options = on_cpu(options_of(0));
  options.images = [&] { return images; };
  waited_device d(std::move(options));
  activation x;
  std::vector<chosen_token> chosen;
  uint64_t bytes = 0;
  for (uint32_t l = 0; l < facts.layers; ++l) {
    const bool last = l + 1 == facts.layers;
    layout.write(l, files.view(l), images->memory(l));
    images->finish_layer();
    bytes += images->image(l).size();
    const auto arrived = d.next_of_all();
    CHECK(arrived.what == (last ? kind::loaded : kind::layers_ready));
    CHECK(arrived.facts.layers_ready == l + 1);
    CHECK(arrived.facts.layers == facts.layers);
    CHECK(arrived.facts.weight_bytes == bytes);
    CHECK(arrived.facts.block_bytes == block_bytes);
    d->start(step, last ? one_sampling : std::span<const token_sampling>(),
             {.first = l, .end = l + 1, .x = &x});
    auto done = d.next_of_all();
    REQUIRE(done.what == kind::step_done);
    chosen = std::move(done.chosen);
    CHECK(chosen.size() == (last ? 1 : 0));
  }
  CHECK(bits_of(chosen) == expected);
}

TEST_CASE("a device whose images cannot be loaded is not usable, with the loader's reason") {
  const checkpoint files(llama / "base");
  const image_format format{element::f32, element::bf16};
  const auto images = std::make_shared<image_set>(image_bytes(files.config(), format), format);
  auto options = on_cpu(options_of(0));
  options.images = [&] { return images; };
  waited_device d(std::move(options));
  images->fail("the disk is gone");
  const auto e = d.next_of_all();
  CHECK(e.what == kind::unusable);
  CHECK(e.problem == "the disk is gone");
}

TEST_CASE("a sequence continues on another device with copied KV blocks") {
  waited_device here(options_of(0, 4)), there(options_of(0, 4));
  const auto facts = here.next().facts;
  there.next();
  const auto chosen = [](waited_device& d, const llm_step& step) {
    d->start(step, one_sampling);
    return bits_of(d.next().chosen);
  };
  for (uint32_t p = 0; p < 3; ++p) chosen(here, one_row_step(265 + static_cast<token>(p), p));
  auto last = one_row_step(271, 3);
  const auto without = chosen(there, last);
  REQUIRE(here->kv_memory().bytes.size() == facts.blocks * facts.block_bytes);
  const auto block = here->kv_memory().bytes.first(facts.block_bytes);
  std::ranges::copy(block, there->kv_memory().bytes.subspan(2 * facts.block_bytes).begin());
  auto moved = last;
  moved.blocks = {2};
  const auto expected = chosen(here, last);
  CHECK(chosen(there, moved) == expected);
  CHECK(without != expected);
}

TEST_CASE("a prefill chunk without sampled rows ends without tokens") {
  waited_device d(options_of(0));
  REQUIRE(d.next().what == kind::loaded);
  auto step = one_row_step(1, 0);
  step.sampled.clear();
  d->start(step, {});
  const auto e = d.next();
  CHECK(e.what == kind::step_done);
  CHECK(e.chosen.empty());
}

TEST_CASE("a model that cannot be loaded makes the device unusable, with the reason") {
  const auto problem = [](const cpu_engine_options& o) {
    waited_device d(o);
    d->load_adapter(adapter_id{1}, adapter_of("sort"));
    auto e = d.next();
    CHECK(e.what == kind::unusable);
    CHECK(e.facts.vocabulary == 0);
    const auto reason = e.problem;
    d->unload_adapter(adapter_id{1});
    CHECK(d.quiet(e));
    return reason;
  };
  auto o = options_of(1);
  o.folder = "/nowhere";
  CHECK(problem(o) == "/nowhere/config.json: No such file or directory");
  o = options_of(1);
  o.kv_bytes = block_bytes - 1;
  CHECK(problem(o).find("has no room for one block of 4 tokens, 12288 bytes: increase it") !=
        std::string::npos);
  // sanitizers abort a process that requests this much
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  o.kv_bytes = uint64_t{1} << 63;
  CHECK(problem(o).find("does not fit into memory") != std::string::npos);
#endif
  o.block_tokens = 0;
  CHECK(problem(o) == "a block of the KV cache holds 1 to 4096 tokens, not 0");
  o.block_tokens = 4097;
  CHECK(problem(o) == "a block of the KV cache holds 1 to 4096 tokens, not 4097");

  const temporary_folder truncated;
  std::filesystem::copy(llama / "base", truncated.path);
  std::filesystem::resize_file(truncated.path / "model.safetensors", 100'000);
  o = options_of(1);
  o.folder = truncated.path;
  CHECK(problem(o).starts_with((truncated.path / "model.safetensors").string()));
}

TEST_CASE("a device can be destroyed during loads and steps") {
  const auto o = options_of(4);
  llm_step step = one_row_step(1, 0);
  for (uint32_t p = 1; p < 200; ++p) {
    step.tokens.push_back(1);
    step.positions.push_back(p);
    step.row_sequence.push_back(0);
    if (p % 4 == 0) step.blocks.push_back(p / 4);
  }
  step.block_start = {0, 50};
  step.segment_end = {0, 200};
  step.sampled = {199};
  for (int i = 0; i < 36; ++i) {
    CAPTURE(i);
    waited_device d(o);
    const auto load_all = [&] {
      uint32_t id = 0;
      for (const auto* name : {"sort", "upper", "reverse", "nowhere"})
        d->load_adapter(adapter_id{++id}, adapter_of(name));
    };
    if (i % 6 == 1) load_all();                             // while the model is loaded, with orders
    if (i % 6 < 2) std::this_thread::sleep_for(i * 200us);  // or without, after a varying part of the load
    if (i % 6 < 2) continue;
    REQUIRE(d.next().what == kind::loaded);
    if (i % 6 == 2) continue;                      // while idle
    if (i % 6 >= 4) load_all();                    // while adapters are read
    if (i % 6 != 4) d->start(step, one_sampling);  // while a step runs
    if (i > 17) std::this_thread::sleep_for(i * 20us);
    if (i % 5 == 0) d.next();
  }
}

TEST_CASE("log-probabilities of the sampled and the most likely tokens come with each token") {
  small_engine engine(options_of(0), {});
  const auto sequence = engine.add({.prompt = {1, 265, 260}, .max_tokens = 12, .top = 5});
  const auto plain = engine.add({.prompt = {1, 265, 260}, .max_tokens = 12});
  engine.run();
  CHECK(bits_of(engine.chosen(sequence)) == bits_of(engine.chosen(plain)));
  for (const auto& c : engine.chosen(sequence)) {
    REQUIRE(c.top.size() == 5);
    CHECK(c.top[0] == token_chance{c.which, c.logprob});
    for (size_t i = 1; i < 5; ++i) CHECK(c.top[i].logprob <= c.top[i - 1].logprob);
    CHECK(c.logprob < 0);
  }
  for (const auto& c : engine.chosen(plain)) CHECK(c.top.empty());
}

TEST_CASE("cached blocks give the bits that a prompt gives, of generated tokens and of another turn, too") {
  small_engine cached(options_of(4), {.max_sequences = 8, .prefill_chunk = 7, .prefix_cache = true});
  small_engine plain(options_of(4), {.max_sequences = 8});
  auto all = golden_sequences(cached.facts());
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<std::pair<size_t, size_t>> both;
    for (auto& t : all) both.emplace_back(cached.add(t.asked), plain.add(t.asked));
    cached.run();
    plain.run();
    for (size_t i = 0; i < all.size(); ++i) {
      CHECK(bits_of(cached.chosen(both[i].first)) == bits_of(plain.chosen(both[i].second)));
      auto& prompt = all[i].asked.prompt;  // the next turn continues the answer
      for (const auto t : plain.tokens(both[i].second)) prompt.push_back(t);
      prompt.push_back(300 + turn);
      all[i].asked.max_tokens = 6;
    }
  }
  CHECK(cached.cached_tokens() > 300);
  CHECK(plain.cached_tokens() == 0);
}

TEST_CASE("a sampled token depends on the seed, not on the rest of the batch") {
  const auto asked = [](uint64_t seed) {
    return asked_sequence{.prompt = {1, 265, 260},
                          .max_tokens = 20,
                          .sampling = {.temperature = 1.5F,
                                       .top_k = 50,
                                       .top_p = 0.9F,
                                       .repetition_penalty = 1.1F,
                                       .presence_penalty = 0.2F,
                                       .frequency_penalty = 0.1F,
                                       .biases = {{300, 2}}},
                          .seed = seed};
  };
  std::set<std::vector<token>> different;
  small_engine together(options_of(0), {.max_sequences = 6});
  for (uint64_t seed = 0; seed < 6; ++seed) together.add(asked(seed));
  together.run();
  for (uint64_t seed = 0; seed < 6; ++seed) {
    small_engine alone(options_of(0), {.max_sequences = 1});
    alone.add(asked(seed));
    alone.run();
    CHECK(bits_of(alone.chosen(0)) == bits_of(together.chosen(seed)));
    different.insert(together.tokens(seed));
  }
  CHECK(different.size() == 6);
}

TEST_CASE("weights and KV cache in 16 bits take less memory, and most sequences are the golden ones") {
  auto o = options_of(4);
  small_engine wide(o, {});
  o.weights = o.kv = element::bf16;
  small_engine narrow(o, {});
  CHECK(narrow.facts().blocks == 2 * wide.facts().blocks);
  CHECK(narrow.facts().weight_bytes < wide.facts().weight_bytes);
  const auto all = golden_sequences(narrow.facts());
  for (const auto& t : all) narrow.add(t.asked);
  narrow.run();
  size_t same = 0;
  for (size_t i = 0; i < all.size(); ++i) same += narrow.tokens(i) == all[i].output ? 1 : 0;
  CHECK(same >= 25);
}

// The decoder's kernels, one after the other, against golden outputs of other people's software; in the
// emulator. Graphs, copies and cuBLAS are what only a GPU has.
#include "gpu/cuda/llm/cuda_decoder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/choose_tokens.hpp"
#include "gpu/llm/tensor_shard.hpp"
#include "tests/gpu/cuda/emulated_machine.hpp"

using namespace troupe;
using namespace troupe::cuda;
using llm::adapter_id;
using llm::llm_step;

namespace {

const std::filesystem::path fixtures = TROUPE_FIXTURES;
constexpr uint32_t block_tokens = 4, blocks = 128;

/// A model on an emulated GPU, and its adapter, if it has one, as adapter 7.
template <element E>
struct small_model {
  explicit small_model(const std::filesystem::path& folder, bool graphs = true, uint32_t seed = 0)
      : files(folder), machine(seed), decoder(machine, files.config(), {blocks, block_tokens, 4, graphs}) {
    for (uint32_t l = files.layers(); l > 0; --l) decoder.load(l - 1, layer_image(files.read(l - 1), E));
    add(adapter_id{7}, folder / "adapter");
  }
  void add(adapter_id id, const std::filesystem::path& folder) {
    if (!std::filesystem::exists(folder)) return;
    const llm::adapter_weights weights(llm::read_adapter(folder, files.config()), files.config().layers, E);
    const adapter_image image(weights, files.config());
    emulated_machine::memory& bytes = adapters.emplace_back(image.bytes().size());
    std::memcpy(bytes.data(), image.bytes().data(), image.bytes().size());
    decoder.load(id, image, bytes.data());
  }
  /// The most likely tokens, and the logits that they come from.
  std::vector<float> run(const llm_step& step) { return run(step, 0, files.layers(), nullptr); }
  std::vector<float> run(const llm_step& step, uint32_t first, uint32_t end, llm::activation* x) {
    llm::choice_wish best;
    best.how = &greedy;
    const std::vector<llm::choice_wish> wishes(step.sampled.size(), best);
    decoder.begin(step, wishes, first, end, x);
    decoder.finish(chosen);
    return end == files.layers() ? decoder.logits(wishes.size()) : std::vector<float>();
  }

  llm::checkpoint files;
  emulated_machine machine;
  cuda_decoder<emulated_machine, E> decoder;
  std::vector<emulated_machine::memory> adapters;
  llm::sampling greedy{.temperature = 0, .biases = {}};
  std::vector<llm::chosen_token> chosen;
};

/// Appends rows [first, end) of a text to a step; of the last one a token is to be chosen.
void append(llm_step& s, const std::vector<llm::token>& text, uint32_t first, uint32_t end,
            uint32_t first_block, adapter_id adapter) {
  if (s.sequences.empty()) s.block_start = {0}, s.segment_end = {0};
  const auto sequence = static_cast<uint32_t>(s.sequences.size());
  s.sequences.push_back(llm::sequence_id{sequence + 1});
  for (uint32_t p = first; p < end; ++p)
    s.tokens.push_back(text[p]), s.positions.push_back(p), s.row_sequence.push_back(sequence);
  for (uint32_t b = 0; b * block_tokens < end; ++b) s.blocks.push_back(first_block + (b * 5) % 23);
  s.block_start.push_back(static_cast<uint32_t>(s.blocks.size()));
  if (!s.segment_adapters.empty() && s.segment_adapters.back() == adapter) {
    s.segment_end.back() = s.rows();
  } else {
    s.segment_adapters.push_back(adapter), s.segment_end.push_back(s.rows());
  }
  s.sampled.push_back(s.rows() - 1);
}

double relative_l2(const float* got, const std::vector<float>& wanted) {
  double off = 0, all = 0;
  for (size_t i = 0; i < wanted.size(); ++i)
    off += std::pow(double{got[i]} - wanted[i], 2), all += std::pow(double{wanted[i]}, 2);
  return std::sqrt(off / all);
}

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

/// The golden text of a random model: logits in its prompt and at its end, then greedy tokens, each after the
/// golden ones before it.
template <element E>
void check_golden(small_model<E>& m, const nlohmann::json& golden, adapter_id adapter) {
  // rounding to E in a dozen places of a few layers: eight times as much in bf16, whose numbers have three
  // bits less
  const double tolerance = E == element::bf16 ? 0.08 : 0.01;
  std::vector<llm::token> text = golden["ids"];
  const auto prompt = static_cast<uint32_t>(text.size()), mid = golden["mid_index"].get<uint32_t>();
  llm_step s;
  append(s, text, 0, mid + 1, 3, adapter);
  CHECK(relative_l2(m.run(s).data(), golden["mid_logits"]) < tolerance);
  s.clear();
  append(s, text, mid + 1, prompt, 3, adapter);
  std::vector<float> logits = m.run(s);
  CHECK(relative_l2(logits.data(), golden["last_logits"]) < tolerance);
  int wrong = 0, sure = 0;
  for (size_t i = 0; i < golden["greedy"].size(); ++i) {
    CHECK(m.chosen[0].which == std::ranges::max_element(logits) - logits.begin());
    const bool margin = golden["greedy_margins"][i].get<double>() > 0.1;
    sure += margin;
    wrong += margin && m.chosen[0].which != golden["greedy"][i].get<int>();
    text.push_back(golden["greedy"][i]);
    s.clear();
    append(s, text, static_cast<uint32_t>(text.size()) - 1, static_cast<uint32_t>(text.size()), 3, adapter);
    logits = m.run(s);
  }
  CHECK(wrong == 0);
  CHECK(sure > 5);
}

template <element E>
void check_model(const std::string& name) {
  CAPTURE(name);
  const std::filesystem::path folder = fixtures / "random-llms" / name;
  small_model<E> m(folder);
  check_golden(m, read_json(folder / "golden.json"), llm::base_model);
  if (m.decoder.has(adapter_id{7}))
    check_golden(m, read_json(folder / "adapter" / "golden.json"), adapter_id{7});
}

}  // namespace

TEST_CASE("cuda decoder: golden logits and tokens of random models, with their adapters, in bf16") {
  for (const char* name : {"llama2-mha", "llama3-gqa-tied", "mistral-swa", "qwen2-bias"})
    check_model<element::bf16>(name);
}

TEST_CASE("cuda decoder: golden logits and tokens of random models, with their adapters, in f16") {
  for (const char* name : {"llama2-mha", "llama3-gqa-tied", "mistral-swa", "qwen2-bias"})
    check_model<element::f16>(name);
}

TEST_CASE("cuda decoder: texts of several adapters in one batch, with and without graphs, the same bits") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  small_model<element::bf16> graphs(folder, true, 1), plain(folder, false, 2), alone(folder, false, 3);
  std::vector<std::vector<llm::token>> texts(5);
  for (uint32_t i = 0; i < 5; ++i)
    for (uint32_t p = 0; p < 10 + i; ++p) texts[i].push_back(static_cast<llm::token>((7 * p * p + i) % 250));
  const auto adapter_of = [](uint32_t i,
                             uint32_t step) {  // of ever fewer texts, which the graph has to notice
    return i % 2 == 0 && i + step < 5 ? adapter_id{7} : llm::base_model;
  };
  for (uint32_t step = 0; step < 4; ++step) {
    llm_step together;
    std::vector<float> separate;
    for (uint32_t i = 0; i < 5; ++i) {
      llm_step one;
      const auto end = static_cast<uint32_t>(texts[i].size());
      for (llm_step* s : {&together, &one})
        append(*s, texts[i], step == 0 ? 0 : end - 1, end, 24 * i, adapter_of(i, step));
      const std::vector<float> logits = alone.run(one);
      separate.insert(separate.end(), logits.begin(), logits.end());
    }
    const std::vector<float> logits = graphs.run(together);
    CHECK(logits == plain.run(together));
    CHECK(logits == separate);
    for (auto& text : texts) text.push_back(static_cast<llm::token>(step * 11 + text.size()));
  }
  CHECK(graphs.machine.captures() == 1);  // three decodes, one shape
  CHECK(plain.machine.captures() == 0);
}

namespace {

/// Greedy texts of several adapters, a step ahead of what is known of them or not; `largest` rows in a step
/// that comes in the midst and takes more room than there is.
template <element E>
std::vector<std::vector<llm::token>> write_texts(const std::filesystem::path& folder, bool ahead, bool graphs,
                                                 uint32_t largest = 0) {
  small_model<E> m(folder, graphs, ahead);
  constexpr uint32_t texts = 3, steps = 8;
  std::vector<std::vector<llm::token>> out(texts);
  for (uint32_t i = 0; i < texts; ++i)
    for (uint32_t p = 0; p < 5 + i; ++p) out[i].push_back(static_cast<llm::token>((7 * p * p + i) % 250));
  llm::choice_wish best;
  best.how = &m.greedy;
  std::deque<llm_step> under_way;
  const auto take = [&] {
    std::vector<llm::chosen_token> chosen;
    while (!m.decoder.is_ready()) {
    }
    m.decoder.finish(chosen);
    REQUIRE(chosen.size() == under_way.front().sampled.size());
    for (uint32_t i = 0; i < texts; ++i)
      out[i][under_way.front().positions[under_way.front().sampled[i]] + 1] = chosen[i].which;
    under_way.pop_front();
  };
  for (uint32_t step = 0; step < steps; ++step) {
    llm_step& s = under_way.emplace_back();
    for (uint32_t i = 0; i < texts; ++i) {
      const auto end = static_cast<uint32_t>(out[i].size());
      append(s, out[i], step == 0 ? 0 : end - 1, end, 24 * i, i < 2 ? adapter_id{7} : llm::base_model);
      out[i].push_back(llm::chosen_before(i));
    }
    if (step == 4 && largest > 0) {
      const std::vector<llm::token> other(largest, 3);
      append(s, other, 0, largest, 72, llm::base_model);
    }
    const std::vector<llm::choice_wish> wishes(s.sampled.size(), best);
    m.decoder.begin(s, wishes, 0, m.files.layers(), nullptr);
    if (!ahead || step > 0) take();
  }
  if (ahead) take();
  CHECK(m.machine.idle());
  return out;
}

}  // namespace

TEST_CASE("cuda decoder: a step that is begun ahead goes on with what the one before chooses") {
  for (const char* name : {"llama2-mha", "llama3-gqa-tied"}) {
    const std::filesystem::path folder = fixtures / "random-llms" / name;
    const auto expected = write_texts<element::bf16>(folder, false, false);
    for (const auto& text : expected) CHECK(std::ranges::none_of(text, llm::is_chosen_before));
    CHECK(write_texts<element::bf16>(folder, true, false) == expected);
    CHECK(write_texts<element::bf16>(folder, true, true) == expected);
  }
}

TEST_CASE(
    "cuda decoder: one ahead that needs more room than there is takes along what the one before chose") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  CHECK(write_texts<element::bf16>(folder, true, true, 300) ==
        write_texts<element::bf16>(folder, false, true));
}

TEST_CASE("cuda decoder: layers in ranges give the bits of all at once") {
  const std::filesystem::path folder = fixtures / "random-llms" / "mistral-swa";
  small_model<element::f16> whole(folder), parts(folder);
  std::vector<llm::token> text;
  for (uint32_t p = 0; p < 30; ++p) text.push_back(static_cast<llm::token>(p * 17 % 300));
  for (const auto& [first, end] : {std::pair{0U, 29U}, {29U, 30U}}) {
    llm_step s;
    append(s, text, first, end, 40, llm::base_model);
    const std::vector<float> wanted = whole.run(s);
    llm::activation x;
    parts.chosen.clear();
    parts.run(s, 0, 1, &x), parts.run(s, 1, 3, &x);
    CHECK(parts.chosen.empty());
    parts.run(s, 3, 4, &x);
    CHECK(parts.run(s, 4, parts.files.layers(), &x) == wanted);
  }
}

namespace {

/// The golden logits of a random model from ranks that share it, of its first `vocabulary` tokens alone:
/// three rows of a step whose graph has room for four, and that is replayed.
template <element E>
void check_shared_head(const std::string& name, uint32_t ranks, uint32_t vocabulary) {
  CAPTURE(name);
  CAPTURE(ranks);
  CAPTURE(vocabulary);
  const std::filesystem::path folder = fixtures / "random-llms" / name;
  const llm::checkpoint files(folder);
  llm::model_config config = files.config();
  REQUIRE(config.vocabulary >= vocabulary);
  config.vocabulary = vocabulary;
  const auto golden = read_json(folder / "golden.json");
  const std::vector<llm::token> text = golden["ids"];
  const auto end = static_cast<uint32_t>(text.size());
  llm_step prompts, last;
  for (uint32_t i = 0; i < 3; ++i) {
    append(prompts, text, 0, end - 1, 24 * i, llm::base_model);
    append(last, text, end - 1, end, 24 * i, llm::base_model);
  }
  prompts.sampled.clear();
  const llm::sampling greedy{.temperature = 0, .biases = {}};
  llm::choice_wish best;
  best.how = &greedy;
  const std::vector<llm::choice_wish> wishes(3, best);

  const auto group = std::make_shared<emulated_group>(ranks);
  std::vector<float> logits;
  std::vector<llm::chosen_token> chosen;
  std::vector<std::exception_ptr> errors(ranks);
  const auto work = [&](uint32_t rank) {
    const llm::tensor_shard shard(config, rank, ranks);
    emulated_machine machine(rank, group, rank);
    cuda_decoder<emulated_machine, E> decoder(machine, shard.config(), {blocks, block_tokens, 0, true});
    for (uint32_t l = 0; l < files.layers(); ++l) decoder.load(l, layer_image(shard.of(files.read(l)), E));
    std::vector<llm::chosen_token> others;
    const auto run = [&](const llm_step& s) {
      decoder.begin(s, {wishes.data(), s.sampled.size()}, 0, files.layers(), nullptr);
      decoder.finish(rank == 0 ? chosen : others);
    };
    run(prompts), run(last), run(last);
    if (rank == 0) logits = decoder.logits(3);
  };
  {
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          work(rank);
        } catch (...) {
          errors[rank] = std::current_exception();
          group->part();
        }
      });
  }
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
  std::vector<float> expected = golden["last_logits"];
  expected.resize(vocabulary);
  REQUIRE(logits.size() == size_t{3} * vocabulary);
  REQUIRE(chosen.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    const float* row = logits.data() + i * vocabulary;
    CHECK(relative_l2(row, expected) < (E == element::bf16 ? 0.08 : 0.01));
    CHECK(chosen[i].which == std::max_element(row, row + vocabulary) - row);
  }
}

}  // namespace

TEST_CASE("cuda decoder: ranks that share a head, of its own or the embedding, give all of its logits") {
  check_shared_head<element::f16>("llama2-mha", 2, 256);
  check_shared_head<element::bf16>("mistral-swa", 4, 300);  // the last one has four tokens less
  check_shared_head<element::f16>("llama2-mha", 2, 253);
  check_shared_head<element::bf16>("llama3-gqa-tied", 2, 400);
  check_shared_head<element::f16>("llama3-gqa-tied", 4, 397);
  check_shared_head<element::f16>("llama2-mha", 4, 9);  // the last one has none
  check_shared_head<element::f16>("qwen2-bias", 4, 9);
}

TEST_CASE("cuda decoder: tokens are chosen as a CPU chooses from the same logits") {
  small_model<element::bf16> m(fixtures / "random-llms" / "llama3-gqa-tied");
  llm_step s;
  for (uint32_t i = 0; i < 4; ++i)
    append(s, {static_cast<llm::token>(i * 31), 5, 9}, 0, 3, 30 * i, llm::base_model);
  const std::vector<float> logits = m.run(s);
  const auto vocabulary = static_cast<uint32_t>(logits.size() / 4);

  const llm::sampling how[4] = {
      {.temperature = 0, .biases = {{m.chosen[0].which, -std::numeric_limits<float>::infinity()}}},
      {.temperature = 0.7F, .top_k = 40, .min_p = 0.01F, .biases = {}},
      {.top_p = 0.8F, .repetition_penalty = 1.2F, .frequency_penalty = 0.5F, .biases = {{3, 2}, {9, -1}}},
      {.temperature = 1.5F, .presence_penalty = 1, .biases = {}}};
  const std::vector<llm::token_frequency> counts{{9, 1, 2}, {5, 1, 0}, {200, 0, 7}};
  std::vector<llm::choice_wish> wishes(4);
  std::vector<llm::chosen_token> expected;
  for (uint64_t round = 0; round < 8; ++round) {
    for (size_t i = 0; i < 4; ++i)
      wishes[i].how = &how[i], wishes[i].seed = 3 + i, wishes[i].position = round,
      wishes[i].top = static_cast<uint32_t>(i * 6);
    wishes[2].counts = wishes[3].counts = counts;
    choose_tokens(logits, vocabulary, wishes, expected);
    m.decoder.begin(s, wishes, 0, m.files.layers(), nullptr);
    m.decoder.finish(m.chosen);
    for (size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK(m.chosen[i].valid);
      CHECK(m.chosen[i].which == expected[i].which);
      CHECK(m.chosen[i].logprob == doctest::Approx(expected[i].logprob).epsilon(1e-5));
      REQUIRE(m.chosen[i].top.size() == i * 6);
      for (size_t j = 0; j < i * 6; ++j) CHECK(m.chosen[i].top[j].which == expected[i].top[j].which);
    }
  }
}

TEST_CASE("cuda decoder: a step that wants no token computes its KV") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  small_model<element::bf16> at_once(folder), in_parts(folder);
  const std::vector<llm::token> text{1, 5, 9, 200, 33};
  llm_step s;
  append(s, text, 0, 5, 0, llm::base_model);
  const std::vector<float> wanted = at_once.run(s);
  s.clear();
  append(s, text, 0, 3, 0, llm::base_model);
  s.sampled.clear();
  CHECK(in_parts.run(s).empty());
  s.clear();
  append(s, text, 3, 5, 0, llm::base_model);
  CHECK(relative_l2(in_parts.run(s).data(), wanted) < 0.02);
}

TEST_CASE("cuda decoder: a step for which there is no room fails, and a smaller one runs") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  small_model<element::bf16> m(folder);
  std::vector<llm::token> text;
  for (uint32_t p = 0; p < 400; ++p) text.push_back(static_cast<llm::token>(p * 17 % 256));
  llm_step large, small;
  append(large, text, 0, 400, 0, llm::base_model);  // more rows than there is room for from the start
  append(small, text, 0, 5, 0, llm::base_model);
  const std::vector<float> wanted = m.run(small);
  emulated_machine::memory::most = 3 << 20;
  CHECK_THROWS_AS(m.run(large), std::bad_alloc);
  CHECK(m.run(small) == wanted);
  SUBCASE("the one before it ends well") {
    const std::vector<llm::token> first = {m.chosen[0].which};
    llm::choice_wish best;
    best.how = &m.greedy;
    m.decoder.begin(small, {&best, 1}, 0, m.files.layers(), nullptr);
    CHECK_THROWS_AS(m.decoder.begin(large, {&best, 1}, 0, m.files.layers(), nullptr), std::bad_alloc);
    m.decoder.finish(m.chosen);
    CHECK(m.chosen[0].which == first[0]);
    CHECK(m.run(small) == wanted);
  }
  emulated_machine::memory::most = std::numeric_limits<size_t>::max();
  CHECK_NOTHROW(m.run(large));
}

TEST_CASE("cuda decoder: adapters come and go") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama3-gqa-tied";
  small_model<element::bf16> m(folder);
  const std::vector<llm::token> text{1, 5, 9, 200, 33};
  const auto logits_of = [&](adapter_id id) {
    llm_step s;
    append(s, text, 0, 5, 0, id);
    return m.run(s);
  };
  const std::vector<float> adapted = logits_of(adapter_id{7}), base = logits_of(llm::base_model);
  CHECK(adapted != base);
  m.decoder.unload(adapter_id{7});
  CHECK_FALSE(m.decoder.has(adapter_id{7}));
  m.add(adapter_id{9}, folder / "adapter");
  m.add(adapter_id{8}, folder / "adapter");
  CHECK(logits_of(adapter_id{8}) == adapted);
  CHECK(logits_of(adapter_id{9}) == adapted);
  CHECK(logits_of(llm::base_model) == base);
}

TEST_CASE("cuda decoder: what it cannot run is refused by name") {
  llm::model_config c = llm::checkpoint(fixtures / "random-llms" / "llama2-mha").config();
  CHECK_NOTHROW(shape_of(c, 16));
  c.head_dim = 80;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("heads have 80 numbers"), model_error);
  c.head_dim = 32, c.vocabulary = (1 << 20) + 1;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("vocabulary"), model_error);
  c.vocabulary = 320, c.intermediate = 321;
  CHECK_THROWS_WITH_AS(shape_of(c, 16), doctest::Contains("multiples of 8"), model_error);
}

TEST_CASE("cuda decoder: a KV cache has the blocks that go into its bytes, and that kernels can count") {
  const llm::model_config c = llm::checkpoint(fixtures / "random-llms" / "llama2-mha").config();
  const uint64_t vectors = uint64_t{c.layers} * 2 * c.kv_heads * 16, block = vectors * c.head_dim * 2;
  CHECK(kv_blocks(c, 7 * block + block / 2, 16) == 7);
  CHECK(kv_blocks(c, ~uint64_t{0}, 16) == ((uint64_t{1} << 32) - 1) / vectors);
  CHECK_THROWS_WITH_AS(kv_blocks(c, block - 1, 16), doctest::Contains("no room for one block"), model_error);
}

// The decoder's kernels in sequence, against golden outputs of other software: on a GPU as part of
// cuda_device_tests, else in the emulator. Graphs, copies and cuBLAS exist only on a GPU. There the bits of a
// row depend on the number of rows, because cuBLAS chooses its algorithm by it.
#include "gpu/llm/cuda/cuda_decoder.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <memory>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/choose_tokens.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/llm/cuda/small_decoder.hpp"

using namespace troupe;
using namespace troupe::cuda;
using llm::adapter_id;
using llm::llm_step;

namespace {

/// The golden sequence of a random model: logits in its prompt and at its end, then greedy tokens, each after
/// the golden ones before it.
template <element E>
void check_golden(small_model<E>& m, const nlohmann::json& golden, adapter_id adapter) {
  // rounding to E in a dozen places of a few layers: eight times as much in bf16, whose numbers have three
  // bits less
  const double tolerance = E == element::bf16 ? 0.08 : 0.01;
  std::vector<llm::token> sequence = golden["ids"];
  const auto prompt = static_cast<uint32_t>(sequence.size()), mid = golden["mid_index"].get<uint32_t>();
  llm_step s;
  append(s, sequence, 0, mid + 1, 3, adapter);
  const auto check_logits = [&](const std::vector<float>& found, const std::vector<float>& expected) {
    INFO(large_differences(found, expected, tolerance));
    CHECK(relative_l2(found.data(), expected) < tolerance);
  };
  check_logits(m.run(s), golden["mid_logits"]);
  s.clear();
  append(s, sequence, mid + 1, prompt, 3, adapter);
  std::vector<float> logits = m.run(s);
  check_logits(logits, golden["last_logits"]);
  wrong_elements wrong;
  int sure = 0;
  for (size_t i = 0; i < golden["greedy"].size(); ++i) {
    CHECK(m.chosen[0].which == std::ranges::max_element(logits) - logits.begin());
    const bool margin = golden["greedy_margins"][i].get<double>() > 0.1;
    sure += margin;
    const int expected = golden["greedy"][i];
    wrong.check(!margin || m.chosen[0].which == expected, i, expected, m.chosen[0].which);
    sequence.push_back(golden["greedy"][i]);
    s.clear();
    append(s, sequence, static_cast<uint32_t>(sequence.size()) - 1, static_cast<uint32_t>(sequence.size()), 3,
           adapter);
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
  CHECK(m.machine.graphs() == 1);
  if (m.decoder.has(adapter_id{7})) {
    check_golden(m, read_json(folder / "adapter" / "golden.json"), adapter_id{7});
    CHECK(m.machine.graphs() == 2);
  }
}

}  // namespace

TEST_CASE("cuda decoder: golden logits and tokens of random models, with their adapters, in bf16") {
  if (!can_run()) return;
  for (const char* name : {"llama2-mha", "llama3-gqa-tied", "mistral-swa", "qwen2-bias", "phi3"})
    check_model<element::bf16>(name);
}

TEST_CASE("cuda decoder: golden logits and tokens of random models, with their adapters, in f16") {
  if (!can_run()) return;
  for (const char* name : {"llama2-mha", "llama3-gqa-tied", "mistral-swa", "qwen2-bias", "phi3"})
    check_model<element::f16>(name);
}

namespace {

/// `count` sequences with several adapters in one batch: as a graph, without one, and each alone.
void check_mixed(uint32_t count) {
  CAPTURE(count);
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  small_model<element::bf16> graphs(folder, true, 1), plain(folder, false, 2), alone(folder, false, 3);
  std::vector<std::vector<llm::token>> sequences(count);
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t p = 0; p < 10 + i; ++p)
      sequences[i].push_back(static_cast<llm::token>((7 * p * p + i) % 250));
  const auto adapter_of = [&](uint32_t i,
                              uint32_t step) {  // with fewer and fewer sequences, which the graph must handle
    return i % 2 == 0 && i + step < count ? adapter_id{7} : llm::base_model;
  };
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b, bool bits) {
    return bits ? a == b : relative_l2(a.data(), b) < 0.02;
  };
  for (uint32_t step = 0; step < 4; ++step) {
    llm_step together;
    std::vector<float> separate;
    for (uint32_t i = 0; i < count; ++i) {
      llm_step one;
      const auto end = static_cast<uint32_t>(sequences[i].size());
      for (llm_step* s : {&together, &one})
        append(*s, sequences[i], step == 0 ? 0 : end - 1, end, 24 * i, adapter_of(i, step));
      const std::vector<float> logits = alone.run(one);
      separate.insert(separate.end(), logits.begin(), logits.end());
    }
    const std::vector<float> logits = graphs.run(together);
    CHECK(same(logits, plain.run(together), !on_gpu || count == 4));  // four rows are a graph's
    CHECK(same(logits, separate, !on_gpu));
    for (auto& sequence : sequences) sequence.push_back(static_cast<llm::token>(step * 11 + sequence.size()));
  }
  CHECK(graphs.machine.graphs() == 1);  // three decodes, one shape
  CHECK(plain.machine.graphs() == 0);
}

}  // namespace

TEST_CASE(
    "cuda decoder: sequences of several adapters in one batch, with and without graphs, the same bits") {
  if (!can_run()) return;
  check_mixed(5);  // the graph has room for eight
  if (on_gpu) check_mixed(4);
}

namespace {

/// Token counts of a sequence that begins with `prompt` tokens of a prompt, without the tokens still to come.
std::vector<llm::token_frequency> count(const std::vector<llm::token>& sequence, size_t prompt) {
  std::map<llm::token, llm::token_frequency> found;
  for (size_t i = 0; i < sequence.size(); ++i)
    if (!llm::is_chosen_before(sequence[i]))
      ++(i < prompt ? found[sequence[i]].prompt : found[sequence[i]].output);
  std::vector<llm::token_frequency> out;
  for (auto& [which, c] : found) c.which = which, out.push_back(c);
  return out;
}

/// Sequences of several adapters, greedy ones and one with penalties, with a step ahead or without. One step
/// in the middle has another sequence of `largest` rows, whose block list has at least `max_blocks` entries.
template <element E>
std::vector<std::vector<llm::token>> generate_sequences(const std::filesystem::path& folder, bool ahead,
                                                        bool graphs, uint32_t largest = 0,
                                                        uint32_t max_blocks = 0) {
  small_model<E> m(folder, graphs, ahead);
  constexpr uint32_t sequences = on_gpu ? 4 : 3, steps = 8;  // with as many rows as their graph, or fewer
  std::vector<std::vector<llm::token>> out(sequences);
  for (uint32_t i = 0; i < sequences; ++i)
    for (uint32_t p = 0; p < 5 + i; ++p) out[i].push_back(static_cast<llm::token>((7 * p * p + i) % 250));
  llm::token_sampling best;
  best.params = &m.greedy;
  const llm::sampling_params penalised{
      .temperature = 0, .repetition_penalty = 1.1F, .frequency_penalty = 0.5F, .biases = {{3, 1}}};
  std::deque<llm_step> in_flight;
  const auto take = [&] {
    std::vector<llm::chosen_token> chosen;
    while (!m.decoder.is_ready()) {
    }
    m.decoder.finish(chosen, not_stopping);
    REQUIRE(chosen.size() == in_flight.front().sampled.size());
    for (uint32_t i = 0; i < sequences; ++i)
      out[i][in_flight.front().positions[in_flight.front().sampled[i]] + 1] = chosen[i].which;
    in_flight.pop_front();
  };
  for (uint32_t step = 0; step < steps; ++step) {
    llm_step& s = in_flight.emplace_back();
    const std::vector<llm::token_frequency> counts = count(out[1], 6);
    for (uint32_t i = 0; i < sequences; ++i) {
      const auto end = static_cast<uint32_t>(out[i].size());
      append(s, out[i], step == 0 ? 0 : end - 1, end, 24 * i, i < 2 ? adapter_id{7} : llm::base_model);
      out[i].push_back(llm::chosen_before(i));
    }
    if (step == 4 && largest > 0) {
      const std::vector<llm::token> other(largest, 3);
      constexpr uint32_t behind = 24 * sequences;  // the blocks of the others
      append(s, other, 0, largest, behind, llm::base_model);
      s.blocks.resize(std::max<size_t>(s.blocks.size(), max_blocks), behind);
      s.block_start.back() = static_cast<uint32_t>(s.blocks.size());
    }
    std::vector<llm::token_sampling> samplings(s.sampled.size(), best);
    samplings[1].params = &penalised, samplings[1].counts = counts;
    m.decoder.begin(s, samplings, 0, m.files.layers(), nullptr);
    if (!ahead || step > 0) take();
  }
  if (ahead) take();
  CHECK(m.machine.graphs() == size_t{graphs});
#ifndef __CUDACC__
  CHECK(m.machine.idle());
#endif
  return out;
}

}  // namespace

TEST_CASE("cuda decoder: a step begun ahead continues with the tokens that the previous one chooses") {
  if (!can_run()) return;
  for (const char* name : {"llama2-mha", "llama3-gqa-tied"}) {
    const std::filesystem::path folder = fixtures / "random-llms" / name;
    const auto expected = generate_sequences<element::bf16>(folder, false, false);
    for (const auto& sequence : expected) CHECK(std::ranges::none_of(sequence, llm::is_chosen_before));
    CHECK(generate_sequences<element::bf16>(folder, true, false) == expected);
    CHECK(generate_sequences<element::bf16>(folder, true, true) == expected);
  }
}

TEST_CASE("cuda decoder: a step begun ahead that needs more memory keeps the previous step's tokens") {
  if (!can_run()) return;
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  const auto expected = generate_sequences<element::bf16>(folder, false, true);
  CHECK(generate_sequences<element::bf16>(folder, true, true, 300) == expected);
  // tables so far apart that later steps send them separately
  CHECK(generate_sequences<element::bf16>(folder, true, true, 2, 12000) == expected);
}

TEST_CASE("cuda decoder: ranges of layers give the same bits as all layers at once") {
  if (!can_run()) return;
  const std::filesystem::path folder = fixtures / "random-llms" / "mistral-swa";
  small_model<element::f16> whole(folder), parts(folder);
  std::vector<llm::token> sequence;
  for (uint32_t p = 0; p < 30; ++p) sequence.push_back(static_cast<llm::token>(p * 17 % 300));
  for (const auto& [first, end] : {std::pair{0U, 29U}, {29U, 30U}}) {
    llm_step s;
    append(s, sequence, first, end, 40, llm::base_model);
    const std::vector<float> wanted = whole.run(s);
    llm::activation x;
    parts.chosen.clear();
    parts.run(s, 0, 1, &x), parts.run(s, 1, 3, &x);
    CHECK(parts.chosen.empty());
    parts.run(s, 3, 4, &x);
    CHECK(parts.run(s, 4, parts.files.layers(), &x) == wanted);
  }
}

TEST_CASE("cuda decoder: samples the same tokens as a CPU from the same logits") {
  if (!can_run()) return;
  small_model<element::bf16> m(fixtures / "random-llms" / "llama3-gqa-tied");
  llm_step s;
  for (uint32_t i = 0; i < 4; ++i)
    append(s, {static_cast<llm::token>(i * 31), 5, 9}, 0, 3, 30 * i, llm::base_model);
  const std::vector<float> logits = m.run(s);
  const auto vocabulary = static_cast<uint32_t>(logits.size() / 4);

  const llm::sampling_params params[4] = {
      {.temperature = 0, .biases = {{m.chosen[0].which, -std::numeric_limits<float>::infinity()}}},
      {.temperature = 0.7F, .top_k = 40, .min_p = 0.01F, .biases = {}},
      {.top_p = 0.8F, .repetition_penalty = 1.2F, .frequency_penalty = 0.5F, .biases = {{3, 2}, {9, -1}}},
      {.temperature = 1.5F, .presence_penalty = 1, .biases = {}}};
  const std::vector<llm::token_frequency> counts{{9, 1, 2}, {5, 1, 0}, {200, 0, 7}};
  std::vector<llm::token_sampling> samplings(4);
  std::vector<llm::chosen_token> expected;
  for (uint64_t round = 0; round < 8; ++round) {
    for (size_t i = 0; i < 4; ++i)
      samplings[i].params = &params[i], samplings[i].seed = 3 + i, samplings[i].position = round,
      samplings[i].top = static_cast<uint32_t>(i * 6);
    samplings[2].counts = samplings[3].counts = counts;
    choose_tokens(logits, vocabulary, samplings, expected);
    m.decoder.begin(s, samplings, 0, m.files.layers(), nullptr);
    m.decoder.finish(m.chosen, not_stopping);
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

TEST_CASE("cuda decoder: a step without sampled rows computes its KV") {
  if (!can_run()) return;
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  small_model<element::bf16> at_once(folder), in_parts(folder);
  const std::vector<llm::token> sequence{1, 5, 9, 200, 33};
  llm_step s;
  append(s, sequence, 0, 5, 0, llm::base_model);
  const std::vector<float> wanted = at_once.run(s);
  s.clear();
  append(s, sequence, 0, 3, 0, llm::base_model);
  s.sampled.clear();
  CHECK(in_parts.run(s).empty());
  s.clear();
  append(s, sequence, 3, 5, 0, llm::base_model);
  CHECK(relative_l2(in_parts.run(s).data(), wanted) < 0.02);
}

#ifndef __CUDACC__
TEST_CASE("cuda decoder: a step without room fails, and a smaller one runs") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  small_model<element::bf16> m(folder);
  std::vector<llm::token> sequence;
  for (uint32_t p = 0; p < 400; ++p) sequence.push_back(static_cast<llm::token>(p * 17 % 256));
  llm_step large, small;
  append(large, sequence, 0, 400, 0, llm::base_model);  // more rows than the initial capacity
  append(small, sequence, 0, 5, 0, llm::base_model);
  const std::vector<float> wanted = m.run(small);
  emulated_machine::memory::max_bytes = 3 << 20;
  CHECK_THROWS_AS(m.run(large), std::bad_alloc);
  CHECK(m.run(small) == wanted);
  SUBCASE("the step in flight succeeds") {
    const std::vector<llm::token> first = {m.chosen[0].which};
    llm::token_sampling best;
    best.params = &m.greedy;
    m.decoder.begin(small, {&best, 1}, 0, m.files.layers(), nullptr);
    CHECK_THROWS_AS(m.decoder.begin(large, {&best, 1}, 0, m.files.layers(), nullptr), std::bad_alloc);
    m.decoder.finish(m.chosen, not_stopping);
    CHECK(m.chosen[0].which == first[0]);
    CHECK(m.run(small) == wanted);
  }
  emulated_machine::memory::max_bytes = std::numeric_limits<size_t>::max();
  CHECK_NOTHROW(m.run(large));
}

TEST_CASE("cuda decoder: with less shared memory adapters use narrow tiles, with the same bits") {
  const std::filesystem::path folder = fixtures / "random-llms" / "llama2-mha";
  llm_step s;
  for (uint32_t i = 0; i < 4; ++i) {
    std::vector<llm::token> sequence;
    for (uint32_t p = 0; p < 80; ++p) sequence.push_back(static_cast<llm::token>(p * (17 + i) % 256));
    append(s, sequence, 0, 80, 24 * i, i == 2 ? llm::base_model : adapter_id{7});
  }
  const std::vector<float> wanted = small_model<element::bf16>(folder).run(s);
  const auto restore = [max = emulated_machine::max_shared](void*) { emulated_machine::max_shared = max; };
  const std::unique_ptr<void, decltype(restore)> guard(&s, restore);
  emulated_machine::max_shared = lora_kernel<element::bf16, 2>::shared_bytes(16, wide_tile) - 1;
  CHECK(small_model<element::bf16>(folder).run(s) == wanted);
}
#endif

TEST_CASE("cuda decoder: adapters are loaded and unloaded") {
  if (!can_run()) return;
  const std::filesystem::path folder = fixtures / "random-llms" / "llama3-gqa-tied";
  small_model<element::bf16> m(folder);
  const std::vector<llm::token> sequence{1, 5, 9, 200, 33};
  const auto logits_of = [&](adapter_id id) {
    llm_step s;
    append(s, sequence, 0, 5, 0, id);
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

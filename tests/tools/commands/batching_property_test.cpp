// Random weights with the widths of real models: other sequences in a batch do not change a bit of a
// sequence.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "policies/common/random.hpp"
#include "tests/gpu/kernels/cpu/with_threads.hpp"
#include "tools/commands/sequence_generator.hpp"
#include "tools/lab/random_llm.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr uint32_t ranks[] = {1, 3, 16, 64};
constexpr size_t sequence_count = 10;

/// Two layers with the widths of a model of a billion parameters.
model_config wide_config() {
  return random_config(
      {.layers = 2, .hidden = 2048, .heads = 16, .kv_heads = 4, .intermediate = 1024, .vocabulary = 512},
      256);
}

/// The same with everything that the blocks of Gemma, Qwen3 and Phi-3 have and Llama's have not.
model_config wide_config_unlike_llama() {
  auto c = wide_config();
  c.head_norms = c.output_norms = true;
  c.activation = gate_activation::gelu_tanh;
  c.embedding_scale = 45;
  c.norm_offset = 0.5F;
  c.score_cap = 5, c.logit_cap = 3;
  c.local_rope = c.rope;
  c.rope.frequencies.resize(48);  // of 64
  c.rope.scale = 1.2F;
  c.window = {9, 0};
  return c;
}

model_config wide_config_with_experts() {
  auto c = wide_config();
  c.intermediate = 256;
  c.experts = {.count = 8, .per_token = 3};
  return c;
}

/// A model with an adapter of each rank.
struct wide_model {
  wide_model(const model_config& c, element type, scheduler_limits limits)
      : config(c),
        computes(config, {type, type, limits.blocks, limits.block_tokens}),
        sequences(computes, limits) {
    for (uint32_t l = 0; l < config.layers + 2; ++l) computes.load(l, random_layer(config, l, type, 7));
    for (uint32_t i = 0; i < std::size(ranks); ++i) {
      computes.load(adapter_id{i + 1}, random_adapter(config, ranks[i], type, i));
      sequences.adapter_loaded(adapter_id{i + 1});
    }
  }
  model_config config;
  decoder computes;
  sequence_generator sequences;
};

sequence_request random_request(random_stream& random) {
  sequence_request r;
  for (uint64_t n = 1 + random() % 30; n > 0; --n) r.prompt.push_back(static_cast<token>(random() % 512));
  r.adapter = adapter_id{static_cast<uint32_t>(random() % (std::size(ranks) + 1))};
  r.max_tokens = 1 + static_cast<uint32_t>(random() % 8);
  if (random() % 2 == 0) {
    r.sampling.temperature = 1;
    r.sampling.seed = random();
    r.sampling.frequency_penalty = 0.5F;
  }
  return r;
}

struct sequence {
  sequence_request request;
  generated_sequence alone;
  std::vector<uint32_t> positions() const {
    std::vector<uint32_t> all(request.prompt.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
};

std::vector<sequence> sequences_alone(const model_config& config, element type, uint64_t seed) {
  wide_model m(config, type, {.max_sequences = 1, .blocks = 32, .block_tokens = 16});
  random_stream random(seed, "texts");
  std::vector<sequence> out(sequence_count);
  for (auto& t : out) {
    t.request = random_request(random);
    t.request.scope.adapter = t.request.adapter;
    const auto id = m.sequences.add(t.request, t.positions());
    while (m.sequences.step()) {
    }
    t.alone = m.sequences.sequence(id);
  }
  return out;
}

void check_batching(const model_config& config, uint64_t seeds) {
  const kernels::with_threads one(1);
  const std::map<element, std::vector<sequence>> alone{
      {element::f32, sequences_alone(config, element::f32, 3)},
      {element::bf16, sequences_alone(config, element::bf16, 4)}};
  uint64_t preemptions = 0, cached = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto type = seed % 3 == 0 ? element::bf16 : element::f32;
    const auto& sequences = alone.at(type);
    const bool caches = seed % 3 != 1;
    random_stream random(seed, "beside");
    const kernels::with_threads scope(1 + static_cast<int>(seed % 2));
    wide_model m(config, type,
                 {.max_sequences = 3 + static_cast<uint32_t>(random() % 6),
                  .prefill_chunk = 1 + static_cast<uint32_t>(random() % 12),
                  .blocks = 12,
                  .block_tokens = 4,
                  .prefix_cache = caches});
    std::vector<size_t> order(sequences.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    std::map<size_t, sequence_id> ids;
    std::vector<sequence_id> passing;
    for (const auto i : order) {
      auto other = random_request(random);
      if (random() % 4 != 0) {  // it begins like this one, which may share what it computes
        const auto& like = sequences[i].request;
        other.adapter = like.adapter;
        const auto same = std::min<size_t>(like.prompt.size(), 4 + random() % 30);
        other.prompt.insert(other.prompt.begin(), like.prompt.begin(),
                            like.prompt.begin() + static_cast<long>(same));
        other.prompt.resize(std::min<size_t>(other.prompt.size(), 30));
      }
      other.scope.adapter = other.adapter;
      passing.push_back(m.sequences.add(other));
      for (uint64_t steps = random() % 3; steps > 0; --steps) m.sequences.step();
      ids[i] = m.sequences.add(sequences[i].request, sequences[i].positions());
      for (uint64_t steps = random() % 2; steps > 0; --steps) m.sequences.step();
      if (random() % 2 == 0) {
        m.sequences.forget(passing.back());
        passing.pop_back();
      }
    }
    while (m.sequences.step()) {
    }
    for (const auto& [i, id] : ids) {
      CAPTURE(i);
      CHECK(m.sequences.sequence(id).tokens == sequences[i].alone.tokens);
      const auto& logits = m.sequences.sequence(id).logits;
      CHECK_FALSE(logits.back().empty());
      for (size_t p = 0; p < logits.size(); ++p) {
        if (logits[p].empty() && caches) continue;
        CHECK(logits[p] == sequences[i].alone.logits[p]);
      }
    }
    cached += m.sequences.cached_tokens();
    preemptions += m.sequences.preemptions();
  }
  MESSAGE(preemptions, " preemptions, ", cached, " cached tokens");
  CHECK(preemptions > 0);
  CHECK(cached > 20);
}

}  // namespace

TEST_CASE("2048 wide: a sequence's bits are its own beside any adapters, chunks, preemptions and cancels") {
  check_batching(wide_config(), 6);
}

TEST_CASE("2048 wide: so they are with norms of heads and outputs, caps, windows and two rotary embeddings") {
  check_batching(wide_config_unlike_llama(), 3);
}

TEST_CASE("2048 wide: so they are with rows grouped by experts") {
  check_batching(wide_config_with_experts(), 3);
}

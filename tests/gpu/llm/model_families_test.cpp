// Random models of the families whose blocks differ from Llama's: against Transformers
// (tests/fixtures/random-llms), beside others, and with adapters.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/llm/decoder.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"
#include "tests/gpu/llm/small_engine.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

const char* const families_of_fixtures[] = {"qwen3", "gemma2", "gemma3", "phi3", "mixtral", "qwen3-moe"};

std::filesystem::path folder_of_family(const std::string& name) { return fixtures / "random-llms" / name; }

struct golden_logits {
  std::vector<token> ids, greedy;
  std::vector<double> margins;  // between the two most likely tokens
  uint32_t middle = 0;
  std::vector<float> at_middle, at_last;
};

golden_logits golden_of(const std::string& name) {
  std::ifstream in(folder_of_family(name) / "golden.json");
  const auto g = nlohmann::json::parse(in);
  return {g["ids"], g["greedy"], g["greedy_margins"], g["mid_index"], g["mid_logits"], g["last_logits"]};
}

double relative_distance(std::span<const float> is, std::span<const float> should) {
  REQUIRE(is.size() == should.size());
  double off = 0, all = 0;
  for (size_t i = 0; i < is.size(); ++i) {
    off += (double{is[i]} - should[i]) * (double{is[i]} - should[i]);
    all += double{should[i]} * should[i];
  }
  return std::sqrt(off / all);
}

/// Rows [first, end) of a sequence that has blocks 0, 1, 2 ...
llm_step rows_of(const std::vector<token>& sequence, uint32_t first, uint32_t end, uint32_t block,
                 adapter_id adapter) {
  llm_step s;
  for (uint32_t p = first; p < end; ++p) {
    s.tokens.push_back(sequence[p]);
    s.positions.push_back(p);
    s.row_sequence.push_back(0);
  }
  s.sequences = {sequence_id{1}};
  for (uint32_t b = 0; b * block < end; ++b) s.blocks.push_back(b);
  s.block_start = {0, static_cast<uint32_t>(s.blocks.size())};
  s.segment_end = {0, end - first};
  s.segment_adapters = {adapter};
  return s;
}

/// The logits after each of these rows, with the prompt in one chunk.
std::vector<float> logits_of(decoder& d, const std::vector<token>& ids, const std::vector<uint32_t>& rows,
                             adapter_id adapter = base_model) {
  const auto step = rows_of(ids, 0, static_cast<uint32_t>(ids.size()), d.options().block_tokens, adapter);
  activation x;
  d.run(step, 0, d.config().layers + 1, x);
  std::vector<float> logits(rows.size() * d.config().vocabulary);
  d.head(x, rows, logits);
  return logits;
}

decoder loaded_decoder(const checkpoint& files) {
  decoder d(files.config(), {.blocks = 32, .block_tokens = 4});
  for (uint32_t l = 0; l < files.layers(); ++l) d.load(l, files.read(l));
  return d;
}

cpu_engine_options engine_of(const std::string& name, uint32_t blocks) {
  const auto c = read_model_config(folder_of_family(name));
  return {.folder = folder_of_family(name),
          .kv_bytes = uint64_t{blocks} * 4 * 2 * c.kv_width() * sizeof(float) * c.layers,
          .block_tokens = 4,
          .adapter_slots = 2,
          .adapter_bytes = 1 << 30};
}

std::string random_bytes(size_t numbers, std::mt19937& random) {
  std::string bytes(numbers * sizeof(float), '\0');
  for (size_t i = 0; i < numbers; ++i) {
    const float x = static_cast<float>(random() % 2001) / 10000 - 0.1F;
    std::memcpy(bytes.data() + i * sizeof x, &x, sizeof x);
  }
  return bytes;
}

/// Writes an adapter of rank 4 for all modules of a model, as PEFT names them.
void write_random_adapter(const temporary_folder& to, const model_config& config, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<tensor> tensors;
  for (uint32_t l = 0; l < config.layers; ++l) {
    for (const auto& m : modules_of(config)) {
      const auto name = "base_model.model.model.layers." + std::to_string(l) + "." + m.name;
      uint64_t out = 0;
      for (const auto p : m.projections) out += config.out_of(p);
      const uint64_t in = config.in_of(m.projections.front());
      tensors.push_back({name + ".lora_A.weight", "F32", {4, in}, random_bytes(4 * in, random)});
      tensors.push_back({name + ".lora_B.weight", "F32", {out, 4}, random_bytes(4 * out, random)});
    }
  }
  to.write("adapter_config.json", R"({"peft_type": "LORA", "r": 4, "lora_alpha": 8})");
  to.write("adapter_model.safetensors", file_of(tensors));
}

/// The layer in f32, with the numbers of each parameter changed.
layer_parameters changed_layer(
    const layer_parameters& layer,
    const std::function<void(const std::string& name, std::vector<float>& values)>& change) {
  layer_parameters out;
  size_t bytes = 0;
  std::vector<std::vector<float>> all;
  for (const auto& p : layer.parameters) {
    all.push_back(values_of(layer.view(p)));
    change(p.name, all.back());
    out.parameters.push_back({p.name, element::f32, p.shape, bytes});
    bytes += (all.back().size() * sizeof(float) + 63) / 64 * 64;
  }
  auto blob = std::make_shared<aligned_bytes>(bytes);
  for (size_t i = 0; i < all.size(); ++i)
    std::memcpy(blob->data() + out.parameters[i].offset, all[i].data(), all[i].size() * sizeof(float));
  out.blob = std::move(blob);
  return out;
}

/// W + scale B A for each W of the layer.
layer_parameters merged(const layer_parameters& layer, const adapter& a, uint32_t number) {
  return changed_layer(layer, [&](const std::string& name, std::vector<float>& values) {
    for (const auto& part : a.parts) {
      if (part.layer != number || name != module_of(part.target) + ".weight") continue;
      const auto down = values_of(part.a), up = values_of(part.b);
      const size_t in = part.a.shape[1];
      for (size_t o = 0; o < part.b.shape[0]; ++o)
        for (size_t k = 0; k < in; ++k)
          for (size_t r = 0; r < part.rank; ++r)
            values[o * in + k] += part.scale * up[o * part.rank + r] * down[r * in + k];
    }
  });
}

/// The last logits of a fixture's prompt, with another configuration.
std::vector<float> logits_with(const checkpoint& files, const model_config& config,
                               const std::vector<token>& ids, uint32_t blocks = 32) {
  decoder d(config, {.blocks = blocks, .block_tokens = 4});
  for (uint32_t l = 0; l < files.layers(); ++l) d.load(l, files.read(l));
  return logits_of(d, ids, {static_cast<uint32_t>(ids.size() - 1)});
}

}  // namespace

TEST_CASE("random models of the newer families give the logits of Transformers, and the greedy tokens") {
  for (const std::string name : families_of_fixtures) {
    CAPTURE(name);
    const auto golden = golden_of(name);
    auto d = loaded_decoder(checkpoint(folder_of_family(name)));
    const auto last = static_cast<uint32_t>(golden.ids.size() - 1);
    const auto logits = logits_of(d, golden.ids, {golden.middle, last});
    const std::span all(logits);
    CHECK(relative_distance(all.first(golden.at_middle.size()), golden.at_middle) < 1e-4);
    CHECK(relative_distance(all.subspan(golden.at_middle.size()), golden.at_last) < 1e-4);

    small_engine engine(engine_of(name, 64), {.max_sequences = 4, .prefill_chunk = 7});
    engine.add({.prompt = golden.ids, .max_tokens = static_cast<uint32_t>(golden.greedy.size())});
    engine.run();
    const auto tokens = engine.tokens(0);
    REQUIRE(tokens.size() == golden.greedy.size());
    for (size_t i = 0; i < tokens.size() && golden.margins[i] > 1e-3; ++i)
      CHECK(tokens[i] == golden.greedy[i]);
  }
}

TEST_CASE("sequences of the newer families have the same bits beside others, in chunks and when preempted") {
  for (const std::string name : families_of_fixtures) {
    CAPTURE(name);
    const auto config = read_model_config(folder_of_family(name));
    const temporary_folder one, other;
    write_random_adapter(one, config, 1);
    write_random_adapter(other, config, 2);
    std::mt19937 random(7);
    std::vector<asked_sequence> all;
    for (size_t i = 0; i < 9; ++i) {
      asked_sequence s{.prompt = {1}, .max_tokens = 12 + static_cast<uint32_t>(random() % 20)};
      for (size_t n = random() % 50; n > 0; --n)
        s.prompt.push_back(static_cast<token>(random() % config.vocabulary));
      if (i % 3 == 1) s.adapter = one.path.string();
      if (i % 3 == 2) s.adapter = other.path.string();
      if (i % 2 == 1) s.sampling.temperature = 1.1F, s.seed = i;
      all.push_back(std::move(s));
    }
    std::vector<std::vector<std::pair<token, uint32_t>>> alone;
    for (const auto& s : all) {
      small_engine engine(engine_of(name, 64), {.max_sequences = 1, .prefill_chunk = 512});
      engine.add(s);
      engine.run();
      alone.push_back(bits_of(engine.chosen(0)));
    }
    for (const uint32_t blocks : {256U, 28U}) {
      CAPTURE(blocks);
      small_engine engine(engine_of(name, blocks), {.max_sequences = 9, .prefill_chunk = 5});
      for (const auto& s : all) engine.add(s);
      engine.run();
      CHECK(engine.failed().empty());
      for (size_t i = 0; i < all.size(); ++i) CHECK(bits_of(engine.chosen(i)) == alone[i]);
      CHECK((engine.preemptions() > 0) == (blocks == 28));
    }
  }
}

TEST_CASE("an adapter of a newer family gives what its matrices, added to the weights, give") {
  for (const std::string name : families_of_fixtures) {
    CAPTURE(name);
    const checkpoint files(folder_of_family(name));
    const temporary_folder made;
    write_random_adapter(made, files.config(), 3);
    const auto a = read_adapter(made.path, files.config());
    size_t projections = 0;
    for (const auto& m : modules_of(files.config())) projections += m.projections.size();
    CHECK(projections == (files.config().experts.count > 0 ? 4 : projection_count));
    CHECK(a.parts.size() == files.config().layers * projections);
    const auto ids = golden_of(name).ids;
    const auto last = static_cast<uint32_t>(ids.size() - 1);

    auto adapted = loaded_decoder(files);
    adapted.load(adapter_id{1}, a);
    decoder whole(files.config(), {.blocks = 32, .block_tokens = 4});
    for (uint32_t l = 0; l < files.layers(); ++l)
      whole.load(l, l == 0 ? files.read(l) : merged(files.read(l), a, l - 1));
    const auto expected = logits_of(whole, ids, {last});
    CHECK(relative_distance(logits_of(adapted, ids, {last}, adapter_id{1}), expected) < 1e-4);
    CHECK(relative_distance(logits_of(adapted, ids, {last}), expected) > 0.05);
  }
}

TEST_CASE("a rotation of a part of each head is a rotation of all with frequencies 0, heads reordered") {
  const checkpoint files(folder_of_family("phi3"));
  const auto ids = golden_of("phi3").ids;
  auto half = files.config(), reordered = files.config();
  REQUIRE(half.head_dim == 32);
  half.rope.frequencies.resize(8);
  for (size_t i = 8; i < 16; ++i) reordered.rope.frequencies[i] = 0;
  decoder whole(reordered, {.blocks = 32, .block_tokens = 4});
  for (uint32_t l = 0; l < files.layers(); ++l)
    whole.load(l, changed_layer(files.read(l), [&](const std::string& name, std::vector<float>& values) {
                 if (name != "self_attn.q_proj.weight" && name != "self_attn.k_proj.weight") return;
                 const auto before =
                     values;  // [heads * 32, hidden]; numbers 8 to 15 of a head change places with 16 to 23
                 for (size_t i = 0; i < values.size(); ++i) {
                   const size_t row = i / half.hidden, part = row % 32 / 8;
                   const size_t from = part == 1 ? row + 8 : part == 2 ? row - 8 : row;
                   values[i] = before[from * half.hidden + i % half.hidden];
                 }
               }));
  const auto expected = logits_of(whole, ids, {static_cast<uint32_t>(ids.size() - 1)});
  CHECK(relative_distance(logits_with(files, half, ids), expected) < 1e-4);
  CHECK(relative_distance(logits_with(files, files.config(), ids), expected) > 1e-3);
}

TEST_CASE("LongRoPE has its long factors if the KV cache and the configuration allow longer sequences") {
  const checkpoint files(folder_of_family("phi3"));
  const auto ids = golden_of("phi3").ids;
  auto both = files.config(), of_short = files.config(), of_long = files.config();
  for (float& f : of_long.rope.frequencies) f /= 3;
  both.rope.long_frequencies = of_long.rope.frequencies;
  both.rope.short_positions = 64;
  const auto shorter = logits_with(files, of_short, ids), longer = logits_with(files, of_long, ids);
  CHECK(shorter != longer);
  CHECK(logits_with(files, both, ids, 16) == shorter);  // 64 positions
  CHECK(logits_with(files, both, ids, 17) == longer);
  both.max_positions = 64;
  CHECK(logits_with(files, both, ids, 17) == shorter);
}

TEST_CASE("the scale of a rotary embedding scales the scores by its square") {
  const checkpoint files(folder_of_family("phi3"));
  const auto ids = golden_of("phi3").ids;
  auto rotary = files.config(), scores = files.config();
  rotary.rope.scale = 1.5F;
  scores.query_scale = scores.attention_scale() * 2.25F;
  const auto expected = logits_with(files, scores, ids);
  CHECK(relative_distance(logits_with(files, rotary, ids), expected) < 1e-4);
  CHECK(relative_distance(logits_with(files, files.config(), ids), expected) > 1e-3);
}

TEST_CASE("scores under a very low cap are alike, as with a very low scale") {
  const checkpoint files(folder_of_family("gemma2"));
  const auto ids = golden_of("gemma2").ids;
  auto capped = files.config(), scaled = files.config();
  capped.score_cap = 1e-4F;
  scaled.query_scale = 1e-6F, scaled.score_cap = 0;
  const auto expected = logits_with(files, scaled, ids);
  CHECK(relative_distance(logits_with(files, capped, ids), expected) < 1e-3);
  CHECK(relative_distance(logits_with(files, files.config(), ids), expected) > 1e-2);
}

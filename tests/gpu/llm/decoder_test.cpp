#include "gpu/llm/decoder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "gpu/common/model_error.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

const std::filesystem::path folder = std::filesystem::path(TROUPE_FIXTURES) / "random-llms" / "mistral-swa";
constexpr uint32_t block_tokens = 4;

decoder loaded(const checkpoint& files) {
  decoder d(files.config(), {.blocks = 16, .block_tokens = block_tokens});
  for (uint32_t l = files.layers(); l > 0; --l) d.load(l - 1, files.read(l - 1));
  return d;
}

/// Tokens of one sequence, from `first` on, in these blocks.
llm_step step_of(const std::vector<token>& sequence, uint32_t first, uint32_t rows,
                 const std::vector<uint32_t>& blocks) {
  llm_step s;
  for (uint32_t p = first; p < first + rows; ++p) {
    s.tokens.push_back(sequence[p]);
    s.positions.push_back(p);
    s.row_sequence.push_back(0);
  }
  s.sequences = {sequence_id{1}};
  s.block_start = {0, static_cast<uint32_t>(blocks.size())};
  s.blocks = blocks;
  s.segment_end = {0, rows};
  s.segment_adapters = {base_model};
  s.sampled = {rows - 1};
  return s;
}

std::vector<token> some_sequence(uint32_t length) {
  std::vector<token> sequence;
  for (uint32_t i = 0; i < length; ++i) sequence.push_back(static_cast<token>(7 * i * i % 300));
  return sequence;
}

std::vector<float> logits_after(decoder& d, const llm_step& s) {
  activation x;
  d.run(s, 0, d.config().layers + 1, x);
  std::vector<float> out(d.config().vocabulary);
  d.head(x, s.sampled, out);
  return out;
}

const std::vector<uint32_t> some_blocks{9, 2, 14, 3, 0, 7, 11};

}  // namespace

TEST_CASE("ranges of layers give the same bits as all layers at once") {
  for (const char* name : {"mistral-swa", "qwen3", "gemma2", "gemma3", "phi3", "mixtral"}) {
    CAPTURE(name);
    const checkpoint files(folder.parent_path() / name);
    const auto sequence = some_sequence(20);
    const auto step = step_of(sequence, 0, 20, some_blocks);
    auto whole = loaded(files);
    const auto expected = logits_after(whole, step);
    auto parts = loaded(files);
    activation x;
    for (uint32_t l = 0; l <= files.config().layers; ++l) parts.run(step, l, l + 1, x);
    std::vector<float> logits(files.config().vocabulary);
    parts.head(x, step.sampled, logits);
    CHECK(logits == expected);
  }
}

TEST_CASE("heads that are too wide for the kernels are refused") {
  auto config = checkpoint(folder).config();
  config.head_dim = 258;
  CHECK_THROWS_WITH_AS(decoder(config, {.blocks = 1}),
                       "heads of 258 numbers are not supported on CPUs: at most 256 are", model_error);
}

TEST_CASE("a layer is ready when all layers up to it are loaded") {
  const checkpoint files(folder);
  decoder d(files.config(), {.blocks = 1, .block_tokens = block_tokens});
  CHECK(d.ready_layers() == 0);
  d.load(1, files.read(1));
  CHECK(d.ready_layers() == 0);
  d.load(0, files.read(0));
  CHECK(d.ready_layers() == 2);
}

TEST_CASE("a sequence continues in another decoder with copied KV blocks") {
  const checkpoint files(folder);
  const auto sequence = some_sequence(25);
  auto here = loaded(files), there = loaded(files);
  logits_after(here, step_of(sequence, 0, 24, some_blocks));
  const std::vector<uint32_t> other_blocks{1, 5, 8, 15, 12, 4, 10};
  const auto block = [](decoder& d, uint32_t which) {
    const auto bytes = d.blocks().bytes.size() / d.options().blocks;
    return d.blocks().bytes.subspan(which * bytes, bytes);
  };
  for (size_t i = 0; i < other_blocks.size(); ++i)
    std::ranges::copy(block(here, some_blocks[i]), block(there, other_blocks[i]).begin());
  CHECK(logits_after(there, step_of(sequence, 24, 1, other_blocks)) ==
        logits_after(here, step_of(sequence, 24, 1, some_blocks)));
}

TEST_CASE("tokens beyond the sliding window have no effect") {
  const checkpoint files(folder);
  REQUIRE(files.config().window[0] == 16);
  auto d = loaded(files);
  auto sequence = some_sequence(20);
  // one layer sees only its own window
  const auto layer_of = [&](const std::vector<token>& t) {
    activation x;
    d.run(step_of(t, 0, 20, some_blocks), 0, 2, x);
    return std::vector<float>(x.end() - files.config().hidden, x.end());
  };
  const auto before = layer_of(sequence);
  sequence[3] = 1;  // position 19 sees 4 to 19
  CHECK(layer_of(sequence) == before);
  sequence[4] = 1;
  CHECK(layer_of(sequence) != before);
}

TEST_CASE("unloaded adapters free their memory") {
  const auto llama = std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks";
  decoder d(read_model_config(llama / "base"), {.blocks = 1});
  const auto a = read_adapter(llama / "adapters" / "sort", d.config());
  d.load(adapter_id{1}, a);
  const auto one = d.adapter_bytes();
  CHECK(one > 0);
  d.load(adapter_id{2}, a);
  CHECK(d.adapter_bytes() == 2 * one);
  d.load(adapter_id{2}, a);
  CHECK(d.adapter_bytes() == 2 * one);
  d.unload(adapter_id{1});
  d.unload(adapter_id{2});
  CHECK(d.adapter_bytes() == 0);
}

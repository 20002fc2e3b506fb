#include "gpu/llm/layer_image.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/llm/decoder.hpp"
#include "tests/gpu/llm/llama_tasks.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

checkpoint random_llm(const std::string& name) { return checkpoint(fixtures / "random-llms" / name); }

element table_type(const checkpoint& files) { return files.read(0).find("embed_tokens.weight")->type; }

/// An image in memory that held `before`.
aligned_bytes written(const layer_images& images, const checkpoint& files, uint32_t layer, int before) {
  aligned_bytes out(images.bytes(layer));
  std::memset(out.data(), before, out.size());
  images.write(layer, files.view(layer), {out.data(), out.size()});
  return out;
}

std::vector<float> last_logits(decoder& d, uint32_t rows) {
  llm_step s;
  for (uint32_t p = 0; p < rows; ++p) {
    s.tokens.push_back(static_cast<token>(11 * p * p % 200));
    s.positions.push_back(p);
    s.row_sequence.push_back(0);
  }
  s.sequences = {sequence_id{1}};
  s.block_start = {0, 2};
  s.blocks = {1, 0};
  s.segment_end = {0, rows};
  s.segment_adapters = {base_model};
  s.sampled = {rows - 1};
  activation x;
  d.run(s, 0, d.config().layers + 1, x);
  std::vector<float> out(d.config().vocabulary);
  d.head(x, s.sampled, out);
  return out;
}

}  // namespace

TEST_CASE("images of a layer are equal byte for byte, whatever their memory held before") {
  for (const auto* name : {"mistral-swa", "qwen3", "gemma3", "phi3", "mixtral"})
    for (const auto type : {element::f32, element::bf16}) {
      CAPTURE(name);
      const auto files = random_llm(name);
      const image_format format{type, table_type(files)};
      const layer_images images(files.config(), format);
      for (uint32_t l = 0; l < files.layers(); ++l) {
        const auto one = written(images, files, l, 0), other = written(images, files, l, 0xff);
        CHECK(std::ranges::equal(one.span(), other.span()));
      }
    }
}

TEST_CASE("a decoder with the images of another computes the same bits") {
  for (const auto* name : {"mistral-swa", "gemma2", "qwen3-moe"})
    for (const auto type : {element::f32, element::bf16}) {
      CAPTURE(name);
      const auto files = random_llm(name);
      const decoder_options options{.weights = type, .blocks = 2, .block_tokens = 8};
      decoder from(files.config(), options), to(files.config(), options);
      for (uint32_t l = 0; l < files.layers(); ++l) {
        from.load(l, files.read(l));
        const auto image = from.image(l);
        const auto copy = std::make_shared<aligned_bytes>(image.size());
        std::ranges::copy(image, copy->data());
        to.adopt(l, table_type(files), copy->span(), copy);
      }
      CHECK(to.ready_layers() == files.layers());
      const auto one = last_logits(from, 13), other = last_logits(to, 13);
      CHECK(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0);
    }
}

TEST_CASE("an image has its layer's numbers, as the checkpoint stores them") {
  const auto files = random_llm("qwen3");
  const image_format format{element::f32, table_type(files)};
  const layer_images images(files.config(), format);
  const auto image = written(images, files, 1, 0);
  const auto layer = images.layer(1, image.data());
  const auto from = files.read(1);
  const auto number = [&](const char* name, size_t i) {
    const auto v = from.view(*from.find(name));
    return element_at(v.bytes.data(), v.type, i);
  };
  const auto& c = files.config();
  for (uint32_t i = 0; i < c.hidden; ++i) {
    CHECK(layer.input_norm[i] == number("input_layernorm.weight", i));
    // k follows q in the fused projection.
    CHECK(layer.qkv.weights.at(c.q_width(), i) == number("self_attn.k_proj.weight", i));
    CHECK(layer.down.weights.at(3, i % c.intermediate) ==
          number("mlp.down_proj.weight", size_t{3} * c.intermediate + i % c.intermediate));
  }
  CHECK(layer.query_norm.size() == c.head_dim);
  CHECK(layer.qkv.weights.out() == c.q_width() + 2 * c.kv_width());
  CHECK(layer.qkv.bias.empty());
}

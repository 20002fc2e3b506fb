#include "gpu/llm/row_major_image.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "gpu/llm/layer_image.hpp"
#include "gpu/llm/tensor_shard.hpp"
#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::llm;
using row_part = row_major_image::part;

namespace {

checkpoint random_model(const std::string& name) { return checkpoint(fixtures / "random-llms" / name); }

/// An image in memory that held `before`.
std::vector<std::byte> filled(const row_major_image& image, const layer_view& from, std::byte before) {
  std::vector<std::byte> out(image.bytes(), before);
  image.content(from).write(out);
  return out;
}

}  // namespace

TEST_CASE("row-major image: the configuration alone gives the places, as a layer that was read does") {
  for (const auto* name : {"llama2-mha", "llama3-gqa-tied", "qwen2-bias", "phi3"})
    for (const auto type : {element::f16, element::bf16}) {
      CAPTURE(name);
      const auto files = random_model(name);
      const image_format format{type, element::f32, image_layout::row_major};
      const layer_images images(files.config(), format);
      for (uint32_t l = 0; l < files.layers(); ++l) {
        const auto read = files.read(l);
        const row_major_image by_config(parameters_of(files.config(), l), type),
            by_layer(shapes_of(read), type);
        CHECK(images.bytes(l) == by_config.bytes());
        CHECK(by_layer.bytes() == by_config.bytes());
        const auto image = filled(by_config, files.view(l), std::byte{0xff});
        CHECK(filled(by_layer, read.views(), std::byte{0}) == image);
        std::vector<std::byte> dispatched(images.bytes(l), std::byte{1});
        images.write(l, files.view(l), dispatched);
        CHECK(dispatched == image);
        for (uint8_t p = 0; p < row_major_image::parts; ++p)
          CHECK(by_layer.at(image.data(), static_cast<row_part>(p)) ==
                by_config.at(image.data(), static_cast<row_part>(p)));
      }
    }
}

TEST_CASE("row-major image: parts have the numbers of their parameters, rounded, one after the other") {
  const auto files = random_model("qwen2-bias");
  const auto& c = files.config();
  const row_major_image layout(parameters_of(c, 1), element::bf16);
  const auto image = filled(layout, files.view(1), std::byte{0xff});
  const auto read = files.read(1);
  const auto check = [&](row_part which, size_t at, const char* name, size_t i) {
    CAPTURE(name);
    const auto* begin = static_cast<const std::byte*>(layout.at(image.data(), which));
    REQUIRE(begin != nullptr);
    CHECK((begin - image.data()) % row_major_image::alignment == 0);
    const auto from = read.view(*read.find(name));
    const float expected = static_cast<float>(bfloat(element_at(from.bytes.data(), from.type, i)));
    CHECK(element_at(begin, element::bf16, at) == expected);
  };
  const size_t hidden = c.hidden, last = hidden - 1;
  check(row_part::input_norm, last, "input_layernorm.weight", last);
  check(row_part::post_norm, 1, "post_attention_layernorm.weight", 1);
  check(row_part::qkv, 3 * hidden + 2, "self_attn.q_proj.weight", 3 * hidden + 2);
  check(row_part::qkv, c.q_width() * hidden + 5, "self_attn.k_proj.weight", 5);
  check(row_part::qkv, (c.q_width() + c.kv_width()) * hidden, "self_attn.v_proj.weight", 0);
  check(row_part::qkv_bias, c.q_width() + 1, "self_attn.k_proj.bias", 1);
  check(row_part::gate_up, c.intermediate * hidden + 7, "mlp.up_proj.weight", 7);
  check(row_part::down, c.intermediate, "mlp.down_proj.weight", c.intermediate);
  CHECK(layout.at(image.data(), row_part::o_bias) == nullptr);
  CHECK(layout.at(image.data(), row_part::head) == nullptr);
}

TEST_CASE("row-major image: a module without a bias beside others with one has zeros") {
  const std::vector<parameter_shape> shapes{{"self_attn.q_proj.weight", {4, 8}},
                                            {"self_attn.k_proj.weight", {2, 8}},
                                            {"self_attn.k_proj.bias", {2}},
                                            {"self_attn.v_proj.weight", {3, 8}}};
  const row_major_image layout(shapes, element::f16);
  CHECK(layout.bytes() == 256 + (4 + 2 + 3) * 2);
  const std::vector<half> ones(32, half(1.0F));
  layer_view from;
  for (const auto& s : shapes) {
    const size_t numbers = s.shape[0] * (s.shape.size() > 1 ? s.shape[1] : 1);
    from.parameters.push_back(
        {s.name, {element::f16, s.shape, std::as_bytes(std::span(ones).first(numbers))}});
  }
  const auto image = filled(layout, from, std::byte{0xff});
  std::vector<float> bias;
  for (size_t i = 0; i < 9; ++i)
    bias.push_back(element_at(layout.at(image.data(), row_part::qkv_bias), element::f16, i));
  CHECK(bias == std::vector<float>{0, 0, 0, 0, 1, 1, 0, 0, 0});
}

TEST_CASE("row-major image: a shard has the places of its own shapes") {
  const auto files = random_model("llama2-mha");
  const tensor_shard shard(files.config(), 1, 2);
  const auto read = shard.of(files.read(files.layers() - 1));
  const row_major_image image(shapes_of(read), element::bf16);
  CHECK(image.bytes() <
        row_major_image(parameters_of(files.config(), files.layers() - 1), element::bf16).bytes());
  CHECK(filled(image, read.views(), std::byte{1}).size() == image.bytes());
}

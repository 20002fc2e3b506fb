// Expected hashes and values of the fixtures are from fixture_numbers.py.
#include "gpu/checkpoint/parameters.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "gpu/common/fnv.hpp"
#include "gpu/common/model_error.hpp"
#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::llm;
using nlohmann::json;

namespace {

std::vector<uint64_t> hashes_of(const checkpoint& c) {
  std::vector<uint64_t> out;
  for (uint32_t i = 0; i < c.layers(); ++i) out.push_back(fnv1a(c.read(i).blob->span()));
  return out;
}

struct sample {
  float first, second, last;
  bool operator==(const sample&) const = default;
};

sample sample_of(const layer_parameters& layer, std::string_view name) {
  const auto* p = layer.find(name);
  REQUIRE(p != nullptr);
  const auto values = values_of(layer.view(*p));
  return {values[0], values[1], values.back()};
}

void write(const temporary_folder& folder, const json& config, const std::vector<tensor>& weights) {
  folder.write("config.json", config.dump());
  folder.write("model.safetensors", file_of(weights));
}

/// The message of opening such a checkpoint, without the path of its file.
std::string refused_checkpoint(const json& config, const std::vector<tensor>& weights) {
  const temporary_folder folder;
  write(folder, config, weights);
  const auto error = error_of([&] { checkpoint{folder.path}; });
  const auto file = (folder.path / "model.safetensors").string() + ": ";
  return error.starts_with(file) ? error.substr(file.size()) : error;
}

}  // namespace

TEST_CASE("the layers of the fixtures are the bytes of their files") {
  const checkpoint llama(fixtures / "llama-tasks/base");
  CHECK(hashes_of(llama) == std::vector<uint64_t>{0xa9154d873d2421a, 0x7a80bc311788413a, 0xf0329bf50f756db1,
                                                  0xe5fbca878baa8e3c, 0xed070b3535627cb0, 0x42200abb8da04a13,
                                                  0xd012d55f6912c12a, 0xafbfdc92afe6087});
  CHECK(sample_of(llama.read(0), "embed_tokens.weight") ==
        sample{-0.035400390625, -0.013671875, 0.029541015625});
  CHECK(sample_of(llama.read(2), "mlp.down_proj.weight") ==
        sample{0.0142822265625, -0.00133514404296875, -0.0196533203125});
  CHECK(llama.read(2).find("mlp.down_proj.weight")->type == troupe::element::bf16);
  CHECK(llama.read(2).find("mlp.down_proj.weight")->shape == std::vector<uint64_t>{128, 352});

  CHECK(
      hashes_of(checkpoint(fixtures / "random-llms/llama2-mha")) ==
      std::vector<uint64_t>{0xb52ca624b488c7c7, 0x516a5529b86abd2c, 0xbd1c3c7a006e6181, 0x915320b12c14fe7d});
  CHECK(hashes_of(checkpoint(fixtures / "random-llms/mistral-swa")) ==
        std::vector<uint64_t>{0xede9be32e58a94c1, 0xcd078a0fad34f9c0, 0xeee1f6e5dde3a98b, 0x75cd1bdc45e7dd91,
                              0x7122a926339799a7});
  const checkpoint tied(fixtures / "random-llms/llama3-gqa-tied");
  CHECK(hashes_of(tied) == std::vector<uint64_t>{0x52f5f40605bc2072, 0xd53a4217ea4d20fb, 0x32471dde98cfc132,
                                                 0xd0196b49994bbc69});
  CHECK(tied.read(3).find("lm_head.weight") == nullptr);
}

TEST_CASE("biases come after their weights") {
  const checkpoint qwen(fixtures / "random-llms/qwen2-bias");
  CHECK(hashes_of(qwen) == std::vector<uint64_t>{0xd3f5ae511330345d, 0xf04ce666b735d4ee, 0x1aba4752cf688d28,
                                                 0xa57ad570f59f85c6});
  const auto layer = qwen.read(1);
  CHECK(sample_of(layer, "self_attn.k_proj.bias") == sample{-0.271484375, -0.026611328125, -0.049560546875});
  std::vector<std::string> names;
  for (const auto& p : layer.parameters) names.push_back(p.name);
  CHECK(names == std::vector<std::string>{
                     "input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.q_proj.bias",
                     "self_attn.k_proj.weight", "self_attn.k_proj.bias", "self_attn.v_proj.weight",
                     "self_attn.v_proj.bias", "self_attn.o_proj.weight", "post_attention_layernorm.weight",
                     "mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"});
}

TEST_CASE("fused projections are rows of one tensor") {
  auto config = small_config();  // 4 heads of 2, 2 KV heads
  config["model_type"] = "phi3";
  std::vector<tensor> weights;
  for (auto& t : small_weights())
    if (t.name.find("q_proj") + t.name.find("k_proj") + t.name.find("v_proj") + t.name.find("gate_proj") +
            t.name.find("up_proj") ==
        5 * std::string::npos)
      weights.push_back(std::move(t));
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    weights.push_back(counting(layer + "self_attn.qkv_proj.weight", {16, 8}));
    weights.push_back(counting(layer + "mlp.gate_up_proj.weight", {24, 8}));
  }
  const temporary_folder folder;
  write(folder, config, weights);
  const auto layer = checkpoint(folder.path).read(2);
  std::vector<std::string> names;
  for (const auto& p : layer.parameters) names.push_back(p.name);
  CHECK(names == std::vector<std::string>{
                     "input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.k_proj.weight",
                     "self_attn.v_proj.weight", "self_attn.o_proj.weight", "post_attention_layernorm.weight",
                     "mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"});
  CHECK(sample_of(layer, "self_attn.q_proj.weight") == sample{1, 2, 64});
  CHECK(sample_of(layer, "self_attn.k_proj.weight") == sample{65, 66, 96});
  CHECK(sample_of(layer, "self_attn.v_proj.weight") == sample{97, 98, 128});
  CHECK(sample_of(layer, "mlp.gate_proj.weight") == sample{1, 2, 96});
  CHECK(sample_of(layer, "mlp.up_proj.weight") == sample{97, 98, 192});

  named(weights, "model.layers.1.mlp.gate_up_proj.weight") =
      counting("model.layers.1.mlp.gate_up_proj.weight", {23, 8});
  CHECK(
      refused_checkpoint(config, weights) ==
      "'model.layers.1.mlp.gate_up_proj.weight' has the shape [23, 8] where the configuration needs [24, 8]");
}

TEST_CASE("a layer of experts has their router and their projections, one expert after the other") {
  for (const auto& [family, experts] : {std::pair{"mixtral", 4}, std::pair{"qwen3-moe", 8}}) {
    CAPTURE(family);
    const auto layer = checkpoint(fixtures / "random-llms" / family).read(1);
    REQUIRE(layer.find("mlp.gate.weight") != nullptr);
    CHECK(layer.find("mlp.gate.weight")->shape[0] == static_cast<uint64_t>(experts));
    std::vector<std::string> last;
    for (size_t i = layer.parameters.size() - 3; i < layer.parameters.size(); ++i)
      last.push_back(layer.parameters[i].name);
    const auto expert = "mlp.experts." + std::to_string(experts - 1);
    CHECK(last == std::vector<std::string>{expert + ".gate_proj.weight", expert + ".up_proj.weight",
                                           expert + ".down_proj.weight"});
    CHECK(layer.find("mlp.down_proj.weight") == nullptr);
  }
}

TEST_CASE("norms of heads and of outputs are parameters of the families that have them") {
  const auto names_of = [](const char* family) {
    std::vector<std::string> names;
    for (const auto& p : checkpoint(fixtures / "random-llms" / family).read(1).parameters)
      if (p.shape.size() == 1) names.push_back(p.name);
    return names;
  };
  CHECK(names_of("qwen3") == std::vector<std::string>{"input_layernorm.weight", "self_attn.q_norm.weight",
                                                      "self_attn.k_norm.weight",
                                                      "post_attention_layernorm.weight"});
  CHECK(names_of("gemma2") ==
        std::vector<std::string>{"input_layernorm.weight", "post_attention_layernorm.weight",
                                 "pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight"});
  CHECK(names_of("gemma3").size() == 6);
}

TEST_CASE("a layer's blob holds its parameters at multiples of 64, zero between them") {
  const temporary_folder folder;
  write(folder, small_config(), small_weights());
  const checkpoint c(folder.path);
  CHECK(c.layers() == 4);
  const auto layer = c.read(1);
  size_t end = 0;
  for (const auto& p : layer.parameters) {
    CHECK(p.offset == (end + 63) / 64 * 64);
    const auto gap = layer.blob->span().subspan(end, p.offset - end);
    CHECK(std::ranges::all_of(gap, [](std::byte b) { return b == std::byte{0}; }));
    const auto values = values_of(layer.view(p));
    CHECK(values.front() == 1);
    CHECK(values.back() == static_cast<float>(values.size()));
    end = p.offset + layer.view(p).bytes.size();
  }
  CHECK(layer.blob->size() == (end + 63) / 64 * 64);
  const auto mapped = c.view(1);
  REQUIRE(mapped.parameters.size() == layer.parameters.size());
  for (const auto& p : layer.parameters) {
    const auto* found = mapped.find(p.name);
    REQUIRE(found != nullptr);
    CHECK(found->shape == p.shape);
    CHECK(std::ranges::equal(found->bytes, layer.view(p).bytes));
    CHECK(std::ranges::equal(layer.views().find(p.name)->bytes, found->bytes));
  }
  CHECK(mapped.find("self_attn.q_proj.bias") == nullptr);
  CHECK(layer.find("self_attn.q_proj.bias") == nullptr);
  CHECK(c.read(3).parameters.size() == 2);
}

TEST_CASE("weights may be of F32, F16 and BF16 side by side, and no other type") {
  auto weights = small_weights();
  named(weights, "model.norm.weight") = {"model.norm.weight", "F16", {8}, std::string(16, '\x3c')};
  named(weights, "lm_head.weight") = {"lm_head.weight", "BF16", {10, 8}, std::string(160, '\x3f')};
  const temporary_folder folder;
  write(folder, small_config(), weights);
  const auto last = checkpoint(folder.path).read(3);
  CHECK(last.find("norm.weight")->type == troupe::element::f16);
  CHECK(sample_of(last, "norm.weight").first == 1.05859375F);
  CHECK(last.find("lm_head.weight")->type == troupe::element::bf16);
  CHECK(sample_of(last, "lm_head.weight").last == 0.74609375F);

  named(weights, "model.norm.weight") = {"model.norm.weight", "F8_E4M3", {8}, std::string(8, 'x')};
  CHECK(refused_checkpoint(small_config(), weights) ==
        "'model.norm.weight' has the type 'F8_E4M3': save the weights as F32, F16 or BF16");
  named(weights, "model.norm.weight").type = "NF3";
  CHECK(refused_checkpoint(small_config(), weights) ==
        "'model.norm.weight' has the type 'NF3': save the weights as F32, F16 or BF16");
}

TEST_CASE("a file may contain unused tensors of any type") {
  auto weights = small_weights();
  weights.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", "F64", {1}, std::string(8, 'x')});
  weights.push_back({"model.layers.7.mlp.up_proj.weight", "NF3", {1}, std::string(5, 'x')});
  CHECK(refused_checkpoint(small_config(), weights) == "no error");
}

TEST_CASE("a tied model needs no head, and ignores one in its file") {
  auto config = small_config();
  config["tie_word_embeddings"] = true;
  auto weights = small_weights();
  named(weights, "lm_head.weight").type = "NF3";
  CHECK(refused_checkpoint(config, weights) == "no error");
  named(weights, "lm_head.weight").name = "else";
  CHECK(refused_checkpoint(config, weights) == "no error");
  CHECK(refused_checkpoint(small_config(), weights) ==
        "lacks 'lm_head.weight' [10, 8], which config.json needs");
}

TEST_CASE("a missing parameter, or one of the wrong shape, is refused") {
  for (const auto& gone : small_weights()) {
    auto weights = small_weights();
    std::erase_if(weights, [&](const tensor& t) { return t.name == gone.name; });
    CHECK(refused_checkpoint(small_config(), weights).starts_with("lacks '" + gone.name + "' ["));
  }
  auto weights = small_weights();
  named(weights, "model.layers.1.self_attn.k_proj.weight") =
      counting("model.layers.1.self_attn.k_proj.weight", {8, 4});
  CHECK(refused_checkpoint(small_config(), weights) ==
        "'model.layers.1.self_attn.k_proj.weight' has the shape [8, 4] where the configuration needs [4, 8]");

  auto config = small_config();
  config["attention_bias"] = true;
  CHECK(refused_checkpoint(config, small_weights()) ==
        "lacks 'model.layers.0.self_attn.q_proj.bias' [8], which config.json needs");
  config = small_config();
  config["mlp_bias"] = true;
  CHECK(refused_checkpoint(config, small_weights()) ==
        "lacks 'model.layers.0.mlp.gate_proj.bias' [12], which config.json needs");
}

TEST_CASE("a damaged file is refused when the checkpoint is opened") {
  const temporary_folder folder;
  write(folder, small_config(), small_weights());
  auto file = file_of(small_weights());
  file.pop_back();
  folder.write("model.safetensors", file);
  CHECK(error_of([&] { checkpoint{folder.path}; }).find("truncated") != std::string::npos);
}

TEST_CASE("concurrent threads read layers of a moved checkpoint") {
  checkpoint first(fixtures / "random-llms/llama2-mha");
  const auto expected = hashes_of(first);
  const checkpoint c(std::move(first));
  std::vector<std::vector<uint64_t>> read(4);
  {
    std::vector<std::jthread> threads;
    for (auto& r : read) threads.emplace_back([&c, &r] { r = hashes_of(c); });
  }
  for (const auto& r : read) CHECK(r == expected);
}

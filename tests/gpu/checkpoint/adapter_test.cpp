// Expected values of the fixtures are from fixture_numbers.py.
#include "gpu/checkpoint/adapter.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;
using nlohmann::json;

namespace {

const std::string q0 = "base_model.model.model.layers.0.self_attn.q_proj";
const std::string down1 = "base_model.model.model.layers.1.mlp.down_proj";

json small_adapter() {
  return {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 3}, {"target_modules", {"q_proj", "down_proj"}}};
}

std::vector<tensor> small_adapter_weights() {
  return {counting(down1 + ".lora_A.weight", {2, 12}), counting(down1 + ".lora_B.weight", {8, 2}),
          counting(q0 + ".lora_A.weight", {2, 8}), counting(q0 + ".lora_B.weight", {8, 2})};
}

adapter parse(const std::vector<tensor>& weights, const json& config = small_adapter()) {
  const auto file = file_of(weights);
  return parse_adapter(config.dump(), bytes_of(file), config_of(small_config()), "a");
}

std::string refused_adapter(const std::vector<tensor>& weights, const json& config = small_adapter()) {
  return error_of([&] { parse(weights, config); });
}

const adapter_part& part_of(const adapter& a, uint32_t layer, projection p) {
  const auto found = std::ranges::find_if(
      a.parts, [&](const adapter_part& part) { return part.layer == layer && part.target == p; });
  REQUIRE(found != a.parts.end());
  return *found;
}

}  // namespace

TEST_CASE("the fixtures' adapters are read with their scale and their weights") {
  const auto model = read_model_config(fixtures / "llama-tasks/base");
  const auto reverse = read_adapter(fixtures / "llama-tasks/adapters/reverse", model);
  CHECK(reverse.parts.size() == 42);
  CHECK(reverse.max_rank == 8);
  const auto& v = part_of(reverse, 1, projection::v);
  CHECK(v.rank == 8);
  CHECK(v.scale == 2);
  CHECK(v.a.shape == std::vector<uint64_t>{8, 128});
  CHECK(v.b.shape == std::vector<uint64_t>{64, 8});
  CHECK(v.a.type == troupe::element::f32);
  CHECK(values_of(v.a).front() == -0.04038595035672188F);
  CHECK(values_of(v.a).back() == 0.07507537305355072F);
  CHECK(values_of(v.b).front() == -0.023044856265187263F);
  CHECK(values_of(v.b).back() == -0.007242473773658276F);

  const auto scale_and_rank = [&](const char* name) {
    const auto a = read_adapter(fixtures / "llama-tasks/adapters" / name, model);
    return std::pair(a.parts.front().scale, a.max_rank);
  };
  CHECK(scale_and_rank("rot13") == std::pair(1.0F, 16U));
  CHECK(scale_and_rank("sort") == std::pair(2.0F, 16U));
  CHECK(scale_and_rank("upper") == std::pair(1.0F, 8U));

  const auto llama2 = fixtures / "random-llms/llama2-mha", llama3 = fixtures / "random-llms/llama3-gqa-tied";
  const auto two = read_adapter(llama2 / "adapter", read_model_config(llama2));
  CHECK(two.parts.size() == 4);
  CHECK(two.parts[0].scale == 4);
  CHECK(values_of(part_of(two, 1, projection::v).b).back() == 0.12336037307977676F);
  const auto seven = read_adapter(llama3 / "adapter", read_model_config(llama3));
  CHECK(seven.parts.size() == 14);
  CHECK(values_of(part_of(seven, 1, projection::v).a).front() == 0.026511874049901962F);
}

TEST_CASE("parts are in order of layer and target, and lie in one blob at multiples of 64") {
  const auto a = parse(small_adapter_weights());
  REQUIRE(a.parts.size() == 2);
  CHECK(a.parts[0].layer == 0);
  CHECK(a.parts[0].target == projection::q);
  CHECK(a.parts[1].layer == 1);
  CHECK(a.parts[1].target == projection::down);
  CHECK(a.parts[1].scale == 1.5F);
  for (const auto& p : a.parts) {
    for (const auto* w : {&p.a, &p.b}) {
      const auto offset = static_cast<size_t>(w->bytes.data() - a.blob->data());
      CHECK(offset % 64 == 0);
      CHECK(offset + w->bytes.size() <= a.blob->size());
      CHECK(values_of(*w).front() == 1);
      CHECK(values_of(*w).back() == static_cast<float>(w->shape[0] * w->shape[1]));
    }
  }
}

TEST_CASE("modules may have their own ranks and scales by pattern") {
  auto config = small_adapter();
  config["rank_pattern"] = {{"layers.1.mlp.down_proj", 4}};
  config["alpha_pattern"] = {{".*self_attn.*", 8}};
  auto weights = small_adapter_weights();
  weights[0] = counting(down1 + ".lora_A.weight", {4, 12});
  weights[1] = counting(down1 + ".lora_B.weight", {8, 4});
  const auto a = parse(weights, config);
  CHECK(a.max_rank == 4);
  CHECK(part_of(a, 0, projection::q).rank == 2);
  CHECK(part_of(a, 0, projection::q).scale == 4);
  CHECK(part_of(a, 1, projection::down).rank == 4);
  CHECK(part_of(a, 1, projection::down).scale == 0.75F);
  CHECK(refused_adapter(weights) ==
        "a/adapter_model.safetensors: '" + down1 +
            ".lora_A.weight' has the rank 4, but adapter_config.json gives 2 ('r' or "
            "'rank_pattern')");
}

TEST_CASE("weights may be F16 and BF16, and no other type") {
  auto weights = small_adapter_weights();
  weights[2] = {q0 + ".lora_A.weight", "BF16", {2, 8}, std::string(32, '\x3f')};
  weights[3] = {q0 + ".lora_B.weight", "F16", {8, 2}, std::string(32, '\x3c')};
  const auto a = parse(weights);
  CHECK(a.parts[0].a.type == troupe::element::bf16);
  CHECK(values_of(a.parts[0].b).back() == 1.05859375F);
  weights[2] = {q0 + ".lora_A.weight", "I8", {2, 8}, std::string(16, 'x')};
  CHECK(refused_adapter(weights) ==
        "a/adapter_model.safetensors: '" + q0 +
            ".lora_A.weight' has the type 'I8': save the weights as F32, F16 or BF16");
}

TEST_CASE("an A matrix without its B matrix, or a B without its A, is refused") {
  auto weights = small_adapter_weights();
  weights.erase(weights.begin() + 3);
  CHECK(refused_adapter(weights) == "a/adapter_model.safetensors: has '" + q0 + ".lora_A.weight' without '" +
                                        q0 + ".lora_B.weight' (damaged)");
  weights = small_adapter_weights();
  weights.erase(weights.begin());
  CHECK(refused_adapter(weights) == "a/adapter_model.safetensors: has '" + down1 +
                                        ".lora_B.weight' without '" + down1 + ".lora_A.weight' (damaged)");
}

TEST_CASE("shapes must fit the model") {
  const auto with = [](size_t i, const std::string& name, const std::vector<uint64_t>& shape) {
    auto weights = small_adapter_weights();
    weights[i] = counting(name, shape);
    return refused_adapter(weights);
  };
  CHECK(with(0, down1 + ".lora_A.weight", {2, 8}) ==
        "a/adapter_model.safetensors: '" + down1 +
            ".lora_A.weight' has the shape [2, 8] where the configuration needs [2, 12]");
  CHECK(with(3, q0 + ".lora_B.weight", {8, 3}) ==
        "a/adapter_model.safetensors: '" + q0 +
            ".lora_B.weight' has the shape [8, 3] where the configuration needs [8, 2]");
  CHECK(with(2, q0 + ".lora_A.weight", {16}) ==
        "a/adapter_model.safetensors: '" + q0 +
            ".lora_A.weight' has the shape [16] where the configuration needs [2, 8]");
}

TEST_CASE("tensors of an adapter outside of the seven projections are refused") {
  for (const std::string name :
       {"base_model.model.lm_head.lora_A.weight",
        "base_model.model.model.layers.2.self_attn.q_proj.lora_A.weight",
        "base_model.model.model.layers.00.self_attn.q_proj.lora_A.weight",
        "base_model.model.model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.lora_A.weight"}) {
    auto weights = small_adapter_weights();
    weights.push_back(counting(name, {2, 8}));
    CHECK(refused_adapter(weights).starts_with("a/adapter_model.safetensors: '" + name +
                                               "' is not supported: adapters may change the seven "
                                               "projections (q_proj to down_proj) of the model's 2 layers"));
  }
  CHECK(refused_adapter({}) == "a/adapter_model.safetensors: holds no LoRA weights");
}

TEST_CASE("the projections of a fused module share A, and each has its rows of B") {
  auto config = small_config();
  config["model_type"] = "phi3";
  const auto model = config_of(config);
  const std::string layer = "base_model.model.model.layers.1.";
  const std::vector<tensor> weights{counting(layer + "self_attn.qkv_proj.lora_A.weight", {2, 8}),
                                    counting(layer + "self_attn.qkv_proj.lora_B.weight", {16, 2}),
                                    counting(layer + "mlp.gate_up_proj.lora_A.weight", {4, 8}),
                                    counting(layer + "mlp.gate_up_proj.lora_B.weight", {24, 4})};
  auto settings = small_adapter();
  settings["rank_pattern"] = {{"gate_up_proj", 4}};
  const auto read = [&](const std::vector<tensor>& all) {
    const auto file = file_of(all);
    return parse_adapter(settings.dump(), bytes_of(file), model, "a");
  };
  const auto a = read(weights);
  CHECK(a.parts.size() == 5);
  CHECK(a.max_rank == 4);
  for (const auto p : {projection::q, projection::k, projection::v}) {
    CHECK(part_of(a, 1, p).rank == 2);
    CHECK(values_of(part_of(a, 1, p).a) == values_of(part_of(a, 1, projection::q).a));
  }
  CHECK(part_of(a, 1, projection::k).b.shape == std::vector<uint64_t>{4, 2});
  CHECK(values_of(part_of(a, 1, projection::k).b).front() == 17);
  CHECK(values_of(part_of(a, 1, projection::v).b).back() == 32);
  CHECK(values_of(part_of(a, 1, projection::up).b).front() == 49);
  CHECK(part_of(a, 1, projection::up).rank == 4);

  auto others = weights;
  others.push_back(counting(layer + "self_attn.q_proj.lora_A.weight", {2, 8}));
  CHECK(error_of([&] { read(others); }) ==
        "a/adapter_model.safetensors: '" + layer +
            "self_attn.q_proj.lora_A.weight' is not supported: adapters may change qkv_proj, o_proj, "
            "gate_up_proj and down_proj of the model's 2 layers, named "
            "base_model.model.model.layers.0.self_attn.qkv_proj.lora_A.weight");
  others = weights;
  others[1] = counting(layer + "self_attn.qkv_proj.lora_B.weight", {8, 2});
  CHECK(error_of([&] { read(others); }) ==
        "a/adapter_model.safetensors: '" + layer +
            "self_attn.qkv_proj.lora_B.weight' has the shape [8, 2] where the configuration needs [16, 2]");
}

TEST_CASE("adapters of models with experts change the projections of attention only") {
  auto config = small_config();
  config["model_type"] = "mixtral";
  const auto model = config_of(config);
  const auto read = [&](const std::vector<tensor>& all) {
    const auto file = file_of(all);
    return parse_adapter(small_adapter().dump(), bytes_of(file), model, "a");
  };
  std::vector<tensor> weights{counting(q0 + ".lora_A.weight", {2, 8}),
                              counting(q0 + ".lora_B.weight", {8, 2})};
  CHECK(read(weights).parts.size() == 1);
  weights.push_back(
      counting("base_model.model.model.layers.0.block_sparse_moe.experts.0.w1.lora_A.weight", {2, 8}));
  CHECK(error_of([&] { read(weights); }) ==
        "a/adapter_model.safetensors: "
        "'base_model.model.model.layers.0.block_sparse_moe.experts.0.w1.lora_A.weight' is not supported: "
        "adapters may change q_proj, k_proj, v_proj and o_proj of the model's 2 layers, named "
        "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
}

TEST_CASE("an adapter's folder must have both files") {
  const auto model = config_of(small_config());
  const temporary_folder folder;
  const auto config = folder.path / "adapter_config.json",
             weights = folder.path / "adapter_model.safetensors";
  const auto error = [&] { return error_of([&] { read_adapter(folder.path, model); }); };
  CHECK(error() == config.string() + ": No such file or directory");
  folder.write("adapter_config.json", small_adapter().dump());
  CHECK(error() == weights.string() + ": No such file or directory");
  folder.write("adapter_model.safetensors", "PK");
  CHECK(error() == weights.string() + ": has 2 bytes and is not a safetensors file (damaged or truncated)");
  folder.write("adapter_model.safetensors", file_of(small_adapter_weights()));
  CHECK(error() == "no error");
  folder.write("adapter_config.json", R"({"peft_type": "LORA", "r": 2})");
  CHECK(error() == config.string() + ": 'lora_alpha' is missing");
}

#include "tests/gpu/checkpoint/files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "gpu/common/half.hpp"
#include "gpu/common/model_error.hpp"

namespace troupe::llm {

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const model_error& e) {
    return e.what();
  }
  return "no error";
}

std::string with_header(std::string_view header, std::string_view data) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return file.append(header).append(data);
}

std::string file_of(const std::vector<tensor>& tensors) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& t : tensors) {
    header[t.name] = {
        {"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
    data += t.bytes;
  }
  return with_header(header.dump(), data);
}

tensor counting(std::string name, std::vector<uint64_t> shape) {
  size_t count = 1;
  for (const uint64_t d : shape) count *= d;
  std::string bytes(count * sizeof(float), '\0');
  for (size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i + 1);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return {std::move(name), "F32", std::move(shape), std::move(bytes)};
}

tensor& named(std::vector<tensor>& tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &tensor::name);
  REQUIRE(found != tensors.end());
  return *found;
}

nlohmann::json small_config() {
  return {{"model_type", "llama"},    {"num_hidden_layers", 2},
          {"hidden_size", 8},         {"intermediate_size", 12},
          {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 10},         {"max_position_embeddings", 64},
          {"rms_norm_eps", 1e-5},     {"bos_token_id", 1},
          {"eos_token_id", 2}};
}

model_config config_of(const nlohmann::json& config) { return parse_model_config(config.dump(), "", "m"); }

std::vector<tensor> small_weights() {
  std::vector<tensor> out{counting("model.embed_tokens.weight", {10, 8}), counting("model.norm.weight", {8}),
                          counting("lm_head.weight", {10, 8})};
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    out.push_back(counting(layer + "input_layernorm.weight", {8}));
    out.push_back(counting(layer + "self_attn.q_proj.weight", {8, 8}));
    out.push_back(counting(layer + "self_attn.k_proj.weight", {4, 8}));
    out.push_back(counting(layer + "self_attn.v_proj.weight", {4, 8}));
    out.push_back(counting(layer + "self_attn.o_proj.weight", {8, 8}));
    out.push_back(counting(layer + "post_attention_layernorm.weight", {8}));
    out.push_back(counting(layer + "mlp.gate_proj.weight", {12, 8}));
    out.push_back(counting(layer + "mlp.up_proj.weight", {12, 8}));
    out.push_back(counting(layer + "mlp.down_proj.weight", {8, 12}));
  }
  return out;
}

std::vector<float> values_of(const weight_view& w) {
  std::vector<float> out(w.bytes.size() / element_bytes(w.type));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto* at = w.bytes.data() + i * element_bytes(w.type);
    if (w.type == element::f32) {
      std::memcpy(&out[i], at, sizeof(float));
    } else if (w.type == element::f16) {
      half h;
      std::memcpy(&h.bits, at, sizeof h.bits);
      out[i] = static_cast<float>(h);
    } else {
      bfloat b;
      std::memcpy(&b.bits, at, sizeof b.bits);
      out[i] = static_cast<float>(b);
    }
  }
  return out;
}

}  // namespace troupe::llm

// Checkpoints and adapters written by tests, intact or damaged.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/model_config.hpp"
#include "gpu/checkpoint/parameters.hpp"
#include "tests/temporary_folder.hpp"

namespace troupe::llm {

using troupe::temporary_folder;

inline const std::filesystem::path fixtures = TROUPE_FIXTURES;
/// A module that adapters modify.
inline constexpr std::string_view q3 = "model.layers.3.self_attn.q_proj";

/// The message of the model_error that `f` throws, or "no error".
std::string error_of(const std::function<void()>& f);

/// The bytes of a safetensors file with this header, unchanged, followed by `data`.
std::string with_header(std::string_view header, std::string_view data);

struct tensor {
  std::string name, type;
  std::vector<uint64_t> shape;
  std::string bytes;
};
/// A valid safetensors file.
std::string file_of(const std::vector<tensor>& tensors);
/// Floats 1, 2, 3, ... in this shape.
tensor counting(std::string name, std::vector<uint64_t> shape);
tensor& named(std::vector<tensor>& tensors, std::string_view name);

/// A `config.json` of a Llama with 2 layers, hidden size 8, intermediate size 12, 4 heads, 2 KV heads and a
/// vocabulary of 10.
nlohmann::json small_config();
model_config config_of(const nlohmann::json& config);
/// All weights of such a model; the numbers of each tensor count from 1.
std::vector<tensor> small_weights();

/// Element size: 2 or 4 bytes.
std::vector<float> values_of(const weight_view& w);

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

}  // namespace troupe::llm

#include "gpu/checkpoint/encoder_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "gpu/checkpoint/families/family.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe {
namespace {

constexpr size_t max_bytes_of_config = 16 << 20;

constexpr std::array<std::string_view, 6> encoder_families{"bert",      "roberta", "xlm-roberta",
                                                           "camembert", "mpnet",   "distilbert"};
constexpr std::array<std::string_view, 3> writers_of_texts{"ForCausalLM", "ForConditionalGeneration",
                                                           "LMHeadModel"};

bool has_file(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::is_regular_file(file, error);
}

/// config.json, or null.
nlohmann::json config_of(const std::filesystem::path& folder) {
  const auto file = folder / "config.json";
  if (!has_file(file)) return {};
  try {
    return parse_json(read_text(file, max_bytes_of_config));
  } catch (const model_error&) {
    return {};
  }
}

/// Empty: config.json names none.
std::string model_type_of(const nlohmann::json& config) {
  if (!config.is_object()) return {};
  const auto type = config.find("model_type");
  return type != config.end() && type->is_string() ? type->get<std::string>() : std::string();
}

bool is_supported(const nlohmann::json& config) { return is_encoder_family(model_type_of(config)); }

bool writes_texts(const nlohmann::json& config) {
  if (!config.is_object()) return false;
  const auto list = config.find("architectures");
  if (list == config.end() || !list->is_array()) return false;
  return std::ranges::any_of(*list, [](const auto& a) {
    return a.is_string() && std::ranges::any_of(writers_of_texts, [&](std::string_view end) {
             return a.template get_ref<const std::string&>().ends_with(end);
           });
  });
}

bool has_safetensors(const std::filesystem::path& folder) {
  return has_file(folder / "model.safetensors") || has_file(folder / "model.safetensors.index.json");
}

/// Empty: there is none.
std::filesystem::path onnx_file_in(const std::filesystem::path& folder) {
  for (const auto& file : {folder / "model.onnx", folder / "onnx" / "model.onnx"})
    if (has_file(file)) return file;
  return {};
}

}  // namespace

bool is_encoder_family(std::string_view model_type) {
  return std::ranges::count(encoder_families, model_type) > 0;
}

std::filesystem::path encoder_onnx_file(const std::filesystem::path& folder) {
  auto file = onnx_file_in(folder);
  if (file.empty() || !has_file(folder / "tokenizer.json")) return {};
  const auto config = config_of(folder);
  if (writes_texts(config)) return {};
  const bool preferred = is_supported(config) || llm::is_family(model_type_of(config));
  if (preferred && has_safetensors(folder)) return {};
  return file;
}

bool is_encoder_folder(const std::filesystem::path& path) {
  return is_supported(config_of(path)) || !encoder_onnx_file(path).empty();
}

void require_tokenizer(const std::filesystem::path& folder) {
  const auto file = onnx_file_in(folder);
  if (file.empty() || has_safetensors(folder) || has_file(folder / "tokenizer.json")) return;
  throw model_error(fmt::format("{}: has {} and no tokenizer.json: copy the one that belongs to the model",
                                folder.string(), file.lexically_relative(folder).string()));
}

}  // namespace troupe

#include "gpu/checkpoint/tensor_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpu/checkpoint/shown_name.hpp"
#include "gpu/common/is_missing.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {

namespace {

constexpr const char* whole_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr size_t largest_index = 16 << 20;

bool in_folder(const std::string& file) {
  return !file.empty() && file != "." && file != ".." && file.find('/') == std::string::npos &&
         std::ranges::none_of(file, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

}  // namespace

std::string to_string(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

weight_view weight_of(const stored_tensor& tensor, std::string_view name, const std::vector<uint64_t>& shape,
                      const std::string& file) {
  static constexpr std::array<std::pair<std::string_view, element>, 3> types{
      {{"F32", element::f32}, {"F16", element::f16}, {"BF16", element::bf16}}};
  const auto type = std::ranges::find(types, tensor.type, &std::pair<std::string_view, element>::first);
  if (type == types.end()) {
    throw model_error(fmt::format("{}: {} has the type {}: save the weights as F32, F16 or BF16", file,
                                  shown_name(name), shown_name(tensor.type)));
  }
  if (tensor.shape != shape) {
    throw model_error(fmt::format("{}: {} has the shape {} where the configuration needs {}", file,
                                  shown_name(name), to_string(tensor.shape), to_string(shape)));
  }
  return {type->second, tensor.shape, tensor.bytes};
}

std::vector<float> floats_of(const weight_view& w) {
  std::vector<float> out(w.bytes.size() / element_bytes(w.type));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element_at(w.bytes.data(), w.type, i);
  return out;
}

tensor_files::tensor_files(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (!is_missing(folder_ / whole_file)) return;
  if (is_missing(folder_ / index_file)) {
    throw model_error(fmt::format("{}: has neither {} nor {}: save the checkpoint as safetensors",
                                  folder_.string(), whole_file, index_file));
  }
  sharded_ = true;
  read_index();
}

void tensor_files::read_index() {
  const auto path = folder_ / index_file;
  const auto fail = [&](const std::string& what) {
    throw model_error(fmt::format("{}: {}", path.string(), what));
  };
  const auto document = parse_json(read_text(path, largest_index));
  if (!document.is_object() || !document.contains("weight_map") || !document["weight_map"].is_object()) {
    fail("is not an index of shards: it is damaged or lacks its 'weight_map'");
  }
  for (const auto& [tensor, file] : document["weight_map"].items()) {
    if (!file.is_string()) fail(fmt::format("names no file for {}", shown_name(tensor)));
    const auto& name = file.get_ref<const std::string&>();
    if (!in_folder(name)) {
      fail(fmt::format("names the file {} for {}: shards lie in the same folder", shown_name(name),
                       shown_name(tensor)));
    }
    shard_of_.emplace(tensor, name);
  }
}

const safetensors& tensor_files::open(const std::string& file) {
  const auto found = files_.find(file);
  return found != files_.end() ? found->second : files_.emplace(file, folder_ / file).first->second;
}

bool tensor_files::has(const std::string& tensor) {
  return sharded_ ? shard_of_.contains(tensor) : open(whole_file).find(tensor) != nullptr;
}

weight_view tensor_files::need(const std::string& tensor, const std::vector<uint64_t>& shape) {
  std::string file = whole_file;
  if (sharded_) {
    const auto shard = shard_of_.find(tensor);
    if (shard == shard_of_.end()) {
      throw model_error(fmt::format("{}: lacks '{}' {}, which config.json needs",
                                    (folder_ / index_file).string(), tensor, to_string(shape)));
    }
    file = shard->second;
  }
  const auto& opened = open(file);
  const auto* found = opened.find(tensor);
  if (found == nullptr) {
    throw model_error(fmt::format("{}: lacks '{}' {}, which {}", opened.name(), tensor, to_string(shape),
                                  sharded_ ? std::string(index_file) + " lists in it" : "config.json needs"));
  }
  return weight_of(*found, tensor, shape, opened.name());
}

}  // namespace troupe::llm

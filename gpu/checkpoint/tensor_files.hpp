// The safetensors files of a checkpoint's folder: one file, or shards.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/checkpoint/safetensors.hpp"

namespace troupe::llm {

/// Checks that a tensor has type F32, F16 or BF16 and this shape. Throws model_error, which names file,
/// tensor and both shapes.
weight_view weight_of(const stored_tensor& tensor, std::string_view name, const std::vector<uint64_t>& shape,
                      const std::string& file);
/// All numbers of a weight.
std::vector<float> floats_of(const weight_view& w);
/// "[4096, 11008]"; truncated if there are very many dimensions.
std::string to_string(const std::vector<uint64_t>& shape);

/// model.safetensors or, without it, the shards that model.safetensors.index.json names. Opens a shard on
/// first use.
class tensor_files {
 public:
  /// Throws model_error if neither exists, or if the index is damaged or names a file outside the folder.
  explicit tensor_files(std::filesystem::path folder);

  /// Throws model_error if the tensor or its shard is missing or damaged, or if it is not a weight of that
  /// shape.
  weight_view need(const std::string& tensor, const std::vector<uint64_t>& shape);
  /// Throws model_error if the shard is damaged.
  bool has(const std::string& tensor);

 private:
  void read_index();
  const safetensors& open(const std::string& file);

  std::filesystem::path folder_;
  bool sharded_ = false;
  std::map<std::string, std::string> shard_of_;  // by tensor
  std::map<std::string, safetensors> files_;     // by name in the folder
};

}  // namespace troupe::llm

// The weights of a checkpoint's folder, in one file or in shards.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/checkpoint/safetensors.hpp"

namespace troupe::llm {

/// A tensor of a file as a weight: of type F32, F16 or BF16 and of this shape. Throws model_error, naming
/// file, tensor and both shapes.
weight_view weight_of(const stored_tensor& tensor, std::string_view name, const std::vector<uint64_t>& shape,
                      const std::string& file);
/// "[4096, 11008]"; one with absurdly many dimensions is cut.
std::string to_string(const std::vector<uint64_t>& shape);

/// model.safetensors or, without it, the shards that model.safetensors.index.json names; opens a shard when a
/// tensor of it is first asked for.
class tensor_files {
 public:
  /// Throws model_error if there is neither, or the index is damaged or names a file outside the folder.
  explicit tensor_files(std::filesystem::path folder);

  /// Throws model_error if the tensor or its shard is missing or damaged, or it is no weight of that shape.
  weight_view need(const std::string& tensor, const std::vector<uint64_t>& shape);

 private:
  void read_index();
  const safetensors& open(const std::string& file);

  std::filesystem::path folder_;
  bool sharded_ = false;
  std::map<std::string, std::string> shard_of_;  // by tensor
  std::map<std::string, safetensors> files_;     // by name in the folder
};

}  // namespace troupe::llm

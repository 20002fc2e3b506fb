// A safetensors file: a length of 8 bytes (little-endian), a JSON header of that length, and the tensors'
// bytes one after the other. Nothing of a file is believed before it is checked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/mapped_file.hpp"

namespace troupe::llm {

struct stored_tensor {
  std::string type;  ///< as the file calls it: "BF16"; may be one that nobody here knows
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major; their number fits type and shape if the type is known
};

/// Movable. The tensors' bytes live as long as it does, wherever it is moved to.
class safetensors {
 public:
  using tensor_map = std::map<std::string, stored_tensor, std::less<>>;

  /// Maps the file. Throws model_error, naming the file and what is wrong, unless the header is whole and its
  /// tensors cover the rest of the file exactly once.
  explicit safetensors(const std::filesystem::path& file);
  /// The same of bytes in memory, which must outlive it; `name` is for messages.
  safetensors(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  /// By name.
  const tensor_map& tensors() const { return tensors_; }
  /// Null if there is none.
  const stored_tensor* find(std::string_view tensor) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  mapped_file file_;
  tensor_map tensors_;
};

}  // namespace troupe::llm

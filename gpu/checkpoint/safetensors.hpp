// Reads safetensors files: a length of 8 bytes (little-endian), a JSON header of that length, and the
// tensors' bytes, contiguous. Files are untrusted: all fields are checked before use.
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

#include "gpu/common/mapped_file.hpp"

namespace troupe::llm {

struct stored_tensor {
  std::string type;  ///< the file's name of it: "BF16"; may be unknown
  std::vector<uint64_t> shape;
  std::span<const std::byte> bytes;  ///< row-major; their number matches type and shape if the type is known
};

/// Movable. The tensors' bytes stay valid while it lives, also after a move.
class safetensors {
 public:
  using tensor_map = std::map<std::string, stored_tensor, std::less<>>;

  /// Maps the file. Throws model_error, which names the file and the problem, unless the header is complete
  /// and its tensors cover the rest of the file exactly once.
  explicit safetensors(const std::filesystem::path& file);
  /// The same from bytes in memory, which must outlive it. `name`: for messages.
  safetensors(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  /// By name.
  const tensor_map& tensors() const { return tensors_; }
  /// Null if there is no such tensor.
  const stored_tensor* find(std::string_view tensor) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::string name_;
  mapped_file file_;
  tensor_map tensors_;
};

}  // namespace troupe::llm

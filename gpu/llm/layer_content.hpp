// The content of a layer's image: the numbers of a checkpoint, in pieces of which any part of the image can
// be made.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/kernels/weight_blocks.hpp"
#include "gpu/llm/image_part.hpp"

namespace troupe::llm {

/// Thread-safe once all pieces are added.
class layer_content {
 public:
  // The next piece, at `at` in the image, behind the others.
  void add(uint64_t at, std::vector<float> numbers);
  void add(uint64_t at, std::span<const std::byte> bytes);  ///< which outlive this
  void add(uint64_t at, kernels::weight_blocks blocks);
  void add(uint64_t at, const weight_view& numbers, element type);  ///< rounded to it; likewise

  /// Writes a part of the image, whole: bytes without a piece are zero.
  void write(image_part& to) const;
  /// Writes the whole image.
  void write(std::span<std::byte> whole) const;

 private:
  struct rounded {
    std::span<const std::byte> numbers;
    element from, to;
  };
  struct piece {
    uint64_t at;
    uint64_t bytes;
    std::variant<std::vector<float>, std::span<const std::byte>, kernels::weight_blocks, rounded> content;
  };
  static void write(const rounded& r, uint64_t at, image_part& to);
  std::vector<piece> pieces_;  ///< ascending
};

}  // namespace troupe::llm

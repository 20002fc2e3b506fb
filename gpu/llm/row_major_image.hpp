// A layer of a model in one piece of memory as GPUs read it: row-major matrices of 16-bit numbers.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/parameter_layout.hpp"
#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/layer_content.hpp"

namespace troupe::llm {

/// The shapes of a layer's parameters, such as of a shard.
std::vector<parameter_shape> shapes_of(const layer_parameters& layer);

/// The places of the numbers in an image depend on the shapes of the parameters and the type alone.
class row_major_image {
 public:
  /// q, k and v are one matrix, and so are gate and up. A bias follows its matrix.
  enum part : uint8_t {
    input_norm,
    post_norm,
    qkv,
    qkv_bias,
    o,
    o_bias,
    gate_up,
    gate_up_bias,
    down,
    down_bias,
    embedding,
    final_norm,
    head,
    parts
  };
  static constexpr uint64_t alignment = 256;  ///< of each part

  /// `type`: f16 or bf16.
  row_major_image(std::span<const parameter_shape> layer, element type);

  uint64_t bytes() const { return bytes_; }
  /// A layer of these shapes, rounded to the type. The weights outlive the result.
  layer_content content(const layer_view& from) const;
  /// The part in an image at `base`. Null: the layer has no such parameter.
  const void* at(const std::byte* base, part which) const {
    return places_[which] == nowhere ? nullptr : base + places_[which];
  }

 private:
  static constexpr uint64_t nowhere = ~uint64_t{0};
  struct placed {
    std::string parameter;
    uint64_t offset = 0;
  };
  void add(std::span<const parameter_shape> layer, part which,
           std::initializer_list<std::string_view> modules, std::string_view suffix);

  const element type_;
  uint64_t bytes_ = 0;
  std::array<uint64_t, parts> places_;
  std::vector<placed> parameters_;  ///< by offset
};

}  // namespace troupe::llm

// Which experts of a layer compute which rows of a step, and with which weights: the most likely ones by the
// router's softmax (Shazeer et al. 2017, as in Mixtral). A row's experts and weights depend on its own logits
// alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::llm {

class expert_routes {
 public:
  /// logits: [rows, experts]. Equal logits: the lower expert. `normalised`: the weights of a row add up to 1;
  /// otherwise they are probabilities. Requires: 1 <= per_row <= experts.
  void make(const float* logits, size_t rows, uint32_t experts, uint32_t per_row, bool normalised);

  /// The rows of an expert, ascending, and their weights.
  std::span<const uint32_t> rows_of(uint32_t expert) const { return part(rows_, expert); }
  std::span<const float> weights_of(uint32_t expert) const { return part(weights_, expert); }

 private:
  template <class T>
  std::span<const T> part(const std::vector<T>& all, uint32_t expert) const {
    return std::span(all).subspan(start_[expert], start_[expert + 1] - start_[expert]);
  }

  std::vector<size_t> start_;          // [experts + 1] into the two below
  std::vector<uint32_t> rows_;         // by expert
  std::vector<float> weights_;         // by expert
  std::vector<uint32_t> chosen_;       // [rows, per_row]
  std::vector<float> chosen_weights_;  // [rows, per_row]
};

}  // namespace troupe::llm

// A model's parameters on a GPU: the canonical blob of each layer, and copies of convolution filters with
// channels last. Machine: cuda_machine, or the tests' emulated_machine.
#pragma once
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/onnx/cuda/merged_walk.hpp"
#include "gpu/onnx/model.hpp"

namespace troupe::cuda {

template <class Machine>
class tensor_weights {
 public:
  /// Throws the machine's exception if there is no room. Both arguments must outlive this.
  tensor_weights(Machine& machine, const onnx::model& model) : m_(machine), model_(model) {
    for (size_t k = 0; k < model.layers().size(); ++k)
      layers_.push_back(upload(model.parameters(k)->data(), model.layers()[k].bytes));
  }

  const std::byte* parameter(size_t layer, size_t index) const {
    return layers_[layer].data() + described(layer, index).offset;
  }
  /// [first, second, kernel...] as [first, kernel..., second]. Made on first use, which must not be during a
  /// graph capture.
  const std::byte* filters(size_t layer, size_t index) {
    auto& made = filters_[{layer, index}];
    if (made.size() > 0) return made.data();
    const auto& p = described(layer, index);
    const auto* from = reinterpret_cast<const float*>(model_.parameters(layer)->data() + p.offset);
    const size_t second = static_cast<size_t>(p.dims[1]),
                 count = static_cast<size_t>(onnx::element_count(p.dims));
    const size_t kernel = count / static_cast<size_t>(p.dims[0]) / second;
    std::vector<float> turned(count);
    for (size_t i = 0; i < count; ++i)
      turned[(i / (second * kernel) * kernel + i % kernel) * second + i / kernel % second] = from[i];
    made = upload(reinterpret_cast<const std::byte*>(turned.data()), count * sizeof(float));
    return made.data();
  }

  /// Frees the filters. Requires: no later launch reads them.
  void drop_filters() { filters_.clear(); }

  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const auto& l : layers_) sum += l.size();
    for (const auto& [key, f] : filters_) sum += f.size();
    return sum;
  }

 private:
  const onnx::parameter& described(size_t layer, size_t index) const {
    return model_.layers()[layer].parameters[index];
  }
  typename Machine::memory upload(const std::byte* from, size_t bytes) {
    typename Machine::memory to(bytes);
    if (bytes == 0) return to;
    m_.upload(to.data(), from, bytes);
    m_.finish();
    return to;
  }

  Machine& m_;
  const onnx::model& model_;
  std::vector<typename Machine::memory> layers_;
  std::map<std::pair<size_t, size_t>, typename Machine::memory> filters_;
};

}  // namespace troupe::cuda

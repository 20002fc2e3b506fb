// The execution plan of a model for one batch size: steps, and their memory.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/onnx/tensor.hpp"
#include "gpu/onnx/weights.hpp"

namespace troupe::onnx {

class model;

/// A piece of a plan's memory, in use from node `first` to node `last`. Pieces that are not in use at the
/// same time share memory.
struct buffer {
  size_t size = 0;
  size_t first = 0, last = 0;
  size_t offset = 0;          ///< in the plan's memory
  std::byte* data = nullptr;  ///< set when the plan is complete
};

/// An input, output or layer boundary: a tensor in the plan's memory.
struct port {
  data_type type = data_type::fp32;
  shape dims;  ///< with the batch dimension
  address data = nullptr;
  dnnl::memory::desc layout;  ///< empty: row-major

  size_t bytes() const { return static_cast<size_t>(element_count(dims)) * size_of(type); }
  void read(std::byte* out) const;        ///< copies it out, row-major
  void write(const std::byte* in) const;  ///< copies it in
};

/// Not thread-safe. Holds the addresses of weights, so the weights must outlive it.
class plan {
 public:
  std::vector<port> inputs;      ///< in the signature's order
  std::vector<port> outputs;     ///< likewise
  std::vector<port> boundaries;  ///< [k]: input of layer k; unused for k = 0
  double flops = 0;              ///< of convolutions and matrix products; a multiply-add counts 2
  double pooled = 0;             ///< values under the windows of pools, padding included

  /// Runs the layers [first, last) on the content of their input ports. Throws `model_error` if the input is
  /// at fault (an index out of range). False: `stop` was true before a step, and the remaining steps did not
  /// run.
  bool run(size_t first, size_t last, const std::atomic<bool>* stop = nullptr) const;

  size_t memory_bytes() const { return arena_.size() + scratch_.size(); }

 private:
  friend class plan_builder;
  std::vector<std::function<void()>> steps_;
  std::vector<size_t> layer_steps_;  // first step of each layer, and the number of steps
  std::deque<buffer> buffers_;
  std::deque<std::byte*> pointers_;  // to constants
  std::vector<std::shared_ptr<const aligned_bytes>> constants_;
  aligned_bytes arena_, scratch_;
  std::byte* scratch_data_ = nullptr;
};

/// Infers all shapes for `rows`, chooses kernels and layouts, lays out the memory. Takes milliseconds. Throws
/// `model_error`. The layers of `w` need not be loaded yet.
std::unique_ptr<plan> make_plan(const model& m, weights& w, int64_t rows);

/// Limit of the bytes that constant folding may add to a small file: it must not demand gigabytes.
inline constexpr uint64_t max_folded_bytes = uint64_t{1} << 28;

/// Counts the bytes that constant folding adds, so that a chain of nodes that each double a tensor ends
/// early.
class fold_budget {
 public:
  explicit fold_budget(uint64_t max) : max_(max) {}

  /// False: it would be exceeded.
  bool take(uint64_t bytes) {
    if (bytes > max_ - taken_) return false;
    taken_ += bytes;
    return true;
  }
  uint64_t max() const { return max_; }

 private:
  uint64_t max_, taken_ = 0;
};

/// Limit of the work of folding a node, in flops and pooled values: nor may a small file demand minutes.
inline constexpr double max_folded_operations = 2e10;

/// The outputs of one node for constant inputs; without data where a name is empty. Throws `model_error` if
/// they exceed the budget, or would take more than `max_folded_operations`.
std::vector<tensor> evaluate(const graph& g, const node& n, const std::vector<tensor>& inputs,
                             fold_budget& budget);

}  // namespace troupe::onnx

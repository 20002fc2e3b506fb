// The parameters of a model on this device: layer by layer the canonical blob, and from it the layouts that
// plans ask for, each packed once. Shared by all plans and threads that run the model.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "gpu/onnx/layers.hpp"

namespace troupe::onnx {

/// Where a kernel finds its data when it runs: a pointer that is filled in after the kernel was planned.
using address = std::byte* const*;

struct parameter_id {
  size_t layer = 0, index = 0;
};

/// The process's CPU engine of oneDNN.
const dnnl::engine& cpu_engine();

/// Thread-safe.
class weights {
 public:
  explicit weights(std::vector<layer> layers);

  /// Makes a layer ready: checks the blob against the layer's size and hash, then packs what plans asked for.
  /// Throws `model_error` if it is another blob. Loading a layer again changes nothing.
  void load_layer(size_t i, blob bytes);
  bool ready(size_t first, size_t last) const;  ///< all of [first, last)

  /// For plans, before or after the layer is loaded. The address holds null until it is.
  /// The parameter as it is in the blob:
  address plain(parameter_id p);
  /// Seen as `from` (a view of the same bytes) and reordered to `to`:
  address packed(parameter_id p, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  uint64_t packed_bytes() const;  ///< memory of the packed layouts, beside the blobs

 private:
  struct slot {
    size_t index = 0;  // of the parameter in its layer
    dnnl::memory::desc from, to;
    aligned_bytes memory;
    std::byte* data = nullptr;
  };
  struct state {
    layer description;
    blob bytes;
    std::deque<std::byte*> plain;  // one a parameter
    std::deque<slot> packed;
    std::atomic<bool> ready = false;
  };
  void pack(state& s, slot& p);

  mutable std::mutex mutex_;
  std::deque<state> layers_;
  uint64_t packed_bytes_ = 0;
};

}  // namespace troupe::onnx

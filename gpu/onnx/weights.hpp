// The parameters of a model on the CPU: the canonical blob of each layer, and its parameters in the layouts
// that plans need, each packed once. Shared by all plans and threads that run the model.
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

/// Address of a kernel's data: a pointer that is filled in after planning.
using address = std::byte* const*;

struct parameter_id {
  size_t layer = 0, index = 0;
};

/// oneDNN's CPU engine of this process.
const dnnl::engine& cpu_engine();

/// Thread-safe.
class weights {
 public:
  explicit weights(std::vector<layer> layers);

  /// Loads a layer: checks the blob against the layer's size and hash, then packs the layouts that plans
  /// need. Throws `model_error` if the blob does not match. Loading a layer again is a no-op.
  void load_layer(size_t i, blob bytes);
  bool ready(size_t first, size_t last) const;  ///< all of [first, last)

  /// For plans, before or after the layer is loaded; the pointer is null until then. The parameter as in the
  /// blob:
  address plain(parameter_id p);
  /// The same, read as `from` (a view of the same bytes) and reordered to `to`:
  address packed(parameter_id p, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  uint64_t packed_bytes() const;  ///< memory of the packed layouts, without the blobs

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
    std::deque<std::byte*> plain;  // one for each parameter
    std::deque<slot> packed;
    std::atomic<bool> ready = false;
  };
  void pack(state& s, slot& p);

  mutable std::mutex mutex_;
  std::deque<state> layers_;
  uint64_t packed_bytes_ = 0;
};

}  // namespace troupe::onnx

// The parts of language models on one real node: the devices of a worker's engines, and the tokenizers of a
// gateway.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/llm/tokenizer_bundle.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/cluster/cluster.hpp"
#include "tools/node/node_images.hpp"

namespace troupe {

class llm_device_pool {
 public:
  /// Call before the process has other threads.
  static void prepare_process(const cluster_spec& cluster, node_id self);

  /// The devices start to load their models at once, unless those scale. KV caches that peers may pull from
  /// lie in `kv_arena`. `ready(engine)` is called from the devices' threads when they must be polled.
  /// `cluster` and `time` must outlive the pool. Throws model_error if a GPU does not exist.
  llm_device_pool(const cluster_spec& cluster, node_id self, const clock& time, node_images& images,
                  registered_memory kv_arena, std::function<void(engine_id)> ready);

  llm::engine_device& at(engine_id id) { return *devices_.at(id); }
  /// Waits for running steps and destroys the devices.
  void clear() { devices_.clear(); }

 private:
  std::map<engine_id, std::unique_ptr<llm::engine_device>> devices_;
};

/// The adapters of a model, sorted by name: the emulated ones, and each folder with an adapter_config.json in
/// the model's adapter folder.
std::vector<adapter_entry> adapters_of(const llm_spec& model);

/// The tokenizer bundles of all language models of the cluster, by llm_id. Throws model_error that names the
/// file and the fix.
std::vector<std::shared_ptr<const tokenizer_bundle>> read_tokenizer_bundles(const cluster_spec& cluster);

}  // namespace troupe

// What language models need on one real node: on a worker the devices of its engines, on a gateway the words
// of all models.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "actors/llm/tokenizer_bundle.hpp"
#include "gpu/llm/engine_device.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

class llm_device_pool {
 public:
  /// Before the process has other threads.
  static void prepare_process(const cluster_spec& cluster, node_id self);

  /// The devices begin to load at once; `ready(engine)` is called from their threads when there is something
  /// to poll. `cluster` and `time` outlive the pool.
  llm_device_pool(const cluster_spec& cluster, node_id self, const clock& time,
                  std::function<void(engine_id)> ready);

  llm::engine_device& at(engine_id id) { return *devices_.at(id); }
  /// Of the model's adapter folder: each folder in it that holds an adapter_config.json, by its name.
  std::vector<adapter_entry> adapters_of(llm_id model) const;
  /// Waits for steps that run, and ends the devices.
  void clear() { devices_.clear(); }

 private:
  const cluster_spec& cluster_;
  std::map<engine_id, std::unique_ptr<llm::engine_device>> devices_;
};

/// Of every language model of the cluster, by llm_id. Throws model_error, naming the file and the fix.
std::vector<std::shared_ptr<const tokenizer_bundle>> read_tokenizer_bundles(const cluster_spec& cluster);

}  // namespace troupe

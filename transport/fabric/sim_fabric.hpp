// Fabric of a simulated node: real bytes, virtual time. A pull copies in pieces while the owner may write, so
// pulled bytes can be a mixture that only the generation words detect.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "transport/fabric/arenas.hpp"
#include "transport/fabric/fabric.hpp"
#include "transport/fabric/sim_network.hpp"

namespace troupe {

/// Registered memory of all processes. That of killed ones stays readable for a while.
class sim_memory {
 public:
  /// Of one process. Page-aligned and zeroed; pages are not touched before their first use.
  class process_memory {
   public:
    registered_memory add(size_t bytes, memory_kind kind);
    const arenas& all() const { return all_; }

   private:
    struct freed {
      void operator()(void* p) const;
    };
    std::vector<std::unique_ptr<void, freed>> blocks_;
    arenas all_;
  };

  /// That of a new process, which has none yet.
  std::shared_ptr<process_memory> begin(uint64_t process) {
    return processes_[process] = std::make_shared<process_memory>();
  }
  /// Null after `forget`.
  const arenas* find(uint64_t process) const;
  void forget(uint64_t process) { processes_.erase(process); }

 private:
  std::map<uint64_t, std::shared_ptr<process_memory>> processes_;
};

/// `process` is unique among all processes of the simulation. All references outlive the fabric.
std::unique_ptr<fabric> make_sim_fabric(sim_timeline& timeline, sim_network& network, sim_memory& memory,
                                        node_id self, uint64_t process, const clock& time);

}  // namespace troupe

// Fabric of a simulated node: real bytes, virtual time. A pull copies in pieces while the owner may write, so
// pulled bytes can be a mixture that only the generation words detect.
#pragma once
#include <map>
#include <memory>
#include <span>

#include "transport/fabric/fabric.hpp"
#include "transport/fabric/sim_network.hpp"

namespace troupe {

/// The pools of all processes. Those of killed ones stay readable for a while.
class sim_memory {
 public:
  /// Page-aligned and zeroed; pages are not touched before their first use.
  class pool {
   public:
    explicit pool(size_t bytes);
    std::span<std::byte> bytes() const { return bytes_; }

   private:
    struct freed {
      void operator()(void* p) const;
    };
    std::unique_ptr<void, freed> block_;
    std::span<std::byte> bytes_;
  };

  /// The pool of a new process.
  std::shared_ptr<pool> add(uint64_t process, size_t bytes);
  /// Null after `forget`.
  const pool* find(uint64_t process) const;
  void forget(uint64_t process) { pools_.erase(process); }

 private:
  std::map<uint64_t, std::shared_ptr<pool>> pools_;
};

/// `process` is unique among all processes of the simulation. All references outlive the fabric.
std::unique_ptr<fabric> make_sim_fabric(sim_timeline& timeline, sim_network& network, sim_memory& memory,
                                        node_id self, uint64_t process, const clock& time);

}  // namespace troupe

// chain_link pulls the images of one model to its node, chunk by chunk as they become ready at the node
// before it in the chain (BlitzScale §4.2). It writes them into the node's images, from which its shard
// announces them to the next node. A chain may break anywhere: the link then waits for another source, and
// goes on from the first chunk that it lacks.
//
// Every chunk is verified by its hash, which comes with the announcement. The memory that it is pulled into
// stays the link's until the pull has ended.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "actors/runtime/peers_up.hpp"
#include "gpu/llm/image_store.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"
#include "policies/scaling/chunk_transfer.hpp"

namespace troupe {

class chain_link final : public actor {
 public:
  struct options {
    llm_id model;
    uint32_t window = 4;  ///< pulls under way at once
  };
  /// The references outlive the actor.
  chain_link(address self, outbox& out, const options& o, const cluster_spec& cluster, memory_port& memory,
             llm::image_store& store)
      : actor(self, out), options_(o), cluster_(cluster), memory_(memory), store_(store) {}

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return resume_at_; }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return from_ ? "pulling" : "idle"; }

 private:
  void begin(node_id from);
  void on_chunks(const chunks_ready& c);
  void on_pulled(const pulled& p, time_point now);
  void lose_source();
  void log_progress(uint32_t chunk, chunk_outcome how, time_point now);
  void finish_chunks();
  void end_if_done();
  void leave_images();
  void tell_shard();

  const options options_;
  const cluster_spec& cluster_;
  memory_port& memory_;
  llm::image_store& store_;
  peers_up nodes_up_;
  uint64_t order_ = 0;           ///< of the shard, the latest
  std::optional<node_id> from_;  ///< the source
  std::optional<node_id> next_;  ///< the source of other images, once pulls write to the former ones no more
  std::shared_ptr<llm::image_set> images_;        ///< also while pulls write to them
  std::optional<chunk_transfer> transfer_;        ///< of these images
  std::vector<uint64_t> hashes_;                  ///< of chunks [0, n), from announcements
  uint64_t source_offset_ = 0;                    ///< of the images in the source's memory
  uint64_t follow_ = 0;                           ///< number of the present source's announcements
  std::unordered_map<uint64_t, uint32_t> pulls_;  ///< token → chunk
  uint64_t last_token_ = 0;
  time_point first_pull_ = never;                                          ///< of this transfer
  time_point resume_at_ = never;                                           ///< after a pull that failed
  bool waits_ = false;                                                     ///< until then
  time_point failing_since_ = never;                                       ///< no good chunk since then
  uint64_t pulled_before_ = 0, repeated_before_ = 0, damaged_before_ = 0;  ///< by earlier transfers
};

}  // namespace troupe

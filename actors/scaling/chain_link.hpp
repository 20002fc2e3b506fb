// chain_link pulls images of models to its node, chunk by chunk as they become ready at the node before it in
// the chain (BlitzScale §4.2). It writes them into the node's images, from which its shard announces them to
// the next node. A chain may break anywhere: the link then waits for another source, and goes on from the
// first chunk that it lacks. The links of a node measure together the rate of the flow from each source.
//
// Every chunk is verified by its hash, which comes with the announcement. The memory that it is pulled into
// stays the link's until the pull has ended; so does that of the source, which is told then.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/memory_port.hpp"
#include "actors/runtime/peers_up.hpp"
#include "actors/scaling/weights_names.hpp"
#include "gpu/llm/image_store.hpp"
#include "gpu/llm/kept_images.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"
#include "policies/scaling/chunk_transfer.hpp"
#include "policies/scaling/source_flows.hpp"

namespace troupe {

class chain_link final : public actor {
 public:
  /// `window`: pulls under way at once, of a model. `flows`: of all links of the node, which have one thread.
  /// The references outlive the actor.
  chain_link(address self, outbox& out, uint32_t window, const cluster_spec& cluster, memory_port& memory,
             llm::image_store& store, std::shared_ptr<source_flows> flows)
      : actor(self, out),
        window_(window),
        cluster_(cluster),
        memory_(memory),
        store_(store),
        flows_(std::move(flows)),
        names_(cluster) {}

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;

 private:
  /// The way of a model's images to this node.
  struct link {
    /// A node that announces chunks, or from which pulls are under way.
    struct source {
      node_id node;
      uint32_t pulls = 0;
    };
    weights_id model;
    uint64_t order = 0;           ///< of the shard, the latest
    std::optional<node_id> from;  ///< the source
    std::optional<node_id> next;  ///< that of other images, once pulls write to the former ones no more
    llm::kept_images images;      ///< also while pulls write to them
    std::optional<chunk_transfer> transfer;  ///< of these images
    std::vector<uint64_t> hashes;            ///< of chunks [0, n), from announcements
    uint64_t source_offset = 0;              ///< of the images in the source's memory
    uint64_t follow = 0;                     ///< number of the present source's announcements
    std::map<uint64_t, source> sources;      ///< by number: the present one, and former ones with pulls
    uint32_t pulls = 0;                      ///< under way
    time_point first_pull = never;           ///< of this transfer
    time_point resume_at = never;            ///< after a pull that failed
    bool waits = false;                      ///< until then
    time_point failing_since = never;        ///< no good chunk since then
    uint64_t pulled_before = 0, repeated_before = 0, damaged_before = 0;  ///< by earlier transfers

    uint64_t bytes_pulled() const { return pulled_before + (transfer ? transfer->bytes_arrived() : 0); }
    uint64_t bytes_repeated() const { return repeated_before + (transfer ? transfer->bytes_repeated() : 0); }
    uint64_t damaged() const { return damaged_before + (transfer ? transfer->damaged() : 0); }
  };
  struct pull {
    weights_id model;
    uint32_t chunk = 0;
    uint64_t follow = 0;
    node_id from;
    time_point posted;
  };

  void begin(link& l, node_id from);
  void on_chunks(link& l, const chunks_ready& c);
  void on_pulled(const pulled& p, time_point now);
  void measure(const pull& p, uint64_t bytes, time_point now);
  void lose_source(link& l);
  void leave_sources(link& l);
  void finish_chunks(link& l);
  void end_if_done(link& l);
  void leave_images(link& l);
  void tell_shard(const link& l);
  void start_pulls(link& l, time_point now);
  void log_progress(const link& l, uint32_t chunk, time_point now) const;

  const uint32_t window_;
  const cluster_spec& cluster_;
  memory_port& memory_;
  llm::image_store& store_;
  const std::shared_ptr<source_flows> flows_;
  peers_up nodes_up_;
  weights_names names_;
  std::map<weights_id, link> links_;
  std::unordered_map<uint64_t, pull> pulls_;  ///< by token
  uint64_t last_token_ = 0;
};

}  // namespace troupe

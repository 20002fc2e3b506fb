// parameter_shard keeps the images of models in its node's memory: it gets and drops them as the parameter
// pool orders, has them filled by a chain link or by a reader of the disk, announces their chunks to the
// chain links of other nodes, and reports its inventory to the pools of all leader candidates, with the rates
// at which weights came to the node.
//
// Files of tensor models are wanted, and dropped, by the deployment log: the deployer loads a model once they
// have come. If they cannot, or there is no progress for `patience`, it loads from the node's disk.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "actors/runtime/peers_up.hpp"
#include "actors/scaling/image_followers.hpp"
#include "gpu/llm/image_store.hpp"
#include "messages/scaling/commands.hpp"
#include "policies/scaling/node_rates.hpp"
#include "policies/scaling/wanted_files.hpp"

namespace troupe {

class parameter_shard final : public actor {
 public:
  struct options {
    std::vector<node_id> pools;    ///< nodes with a parameter pool
    std::function<void()> notify;  ///< sends this actor `images_changed`, from any thread
    uint32_t files_link = 0;       ///< the chain link of tensor models; language models have one each
    /// The files of a tensor model that a node in this domain may load; null: the node keeps none.
    std::function<weights_id(model_id)> files_of = {};
    uint32_t domain = 0;
    duration patience = 5s;
    duration inventory_interval = 50ms;  ///< between two inventories at least
  };
  /// `store` outlives the actor.
  parameter_shard(address self, outbox& out, const options& o, llm::image_store& store)
      : actor(self, out), options_(o), store_(store), wanted_(o.patience) {}

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;

 private:
  /// The images of a model, and what fills them.
  struct holding {
    holding() = default;
    holding(const holding&) = delete;
    holding& operator=(const holding&) = delete;
    ~holding() { let_go(); }
    void let_go();

    std::shared_ptr<llm::image_set> images;
    uint64_t listener = 0;
    bool reading = false;                             ///< by the store, from the checkpoint
    std::optional<node_id> from;                      ///< the link follows this node, or is about to
    bool read_next = false;                           ///< once the link writes no more
    std::string problem;                              ///< why there are no images
    uint64_t pulled_before = 0, repeated_before = 0;  ///< by the link, for former images
  };
  /// Who may write to images of a model, also to those that were dropped.
  struct writer_state {
    uint64_t order = 0;                 ///< the latest one to the link
    bool link_busy = false;             ///< the link may carry it out, or may still pull
    uint64_t pulled = 0, repeated = 0;  ///< as the link says
  };

  bool obeys(term_id term);
  void learn_term(term_id term);
  void place(const place_copy& order);
  void get_images(weights_id model, holding& h, uint64_t bytes);
  void forget_images(weights_id model, holding& h);
  void on_deployment(const deployment& line);
  void settle_files(time_point now);
  address link_of(weights_id model) const;
  void drop(weights_id model);
  void fill(weights_id model, holding& h);
  void read(weights_id model, holding& h);
  void on_link(const link_changed& l);
  shard_inventory inventory() const;
  image_state state_of(weights_id model, const holding& h) const;

  const options options_;
  llm::image_store& store_;
  peers_up nodes_up_;
  std::map<weights_id, holding> holdings_;
  wanted_files wanted_;
  std::map<weights_id, writer_state> writers_;
  image_followers followers_;
  node_rates rates_;
  term_id term_;  ///< the latest one, of an order or a leader
  bool changed_ = true;
  time_point sent_at_ = long_ago;
  std::optional<shard_inventory> sent_;
};

}  // namespace troupe

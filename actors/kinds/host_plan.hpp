// Which actors of a node share a thread: the groups of actors, and the CAF hosts that run them.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "actors/kinds/node_environment.hpp"
#include "actors/runtime/actor_group.hpp"
#include "actors/runtime/post.hpp"
#include "messages/common/ids.hpp"

namespace troupe {

/// Groups that it gives out live until `spawn`, which hands them to their CAF hosts. Groups without actors
/// get no host, except those of model queues, which may come later. In simulation each actor has a group of
/// its own (`caf_host_part::one_per_actor`).
class host_plan {
 public:
  /// `scheduler_threads`: groups that `of_scheduler` spreads over, at least 1. `post` outlives the groups.
  host_plan(post& post, const caf_host_part& hosts, uint32_t scheduler_threads);

  /// A group that nobody else has: a slow actor keeps no other waiting.
  actor_group& own();
  /// The group of all actors of this kind.
  actor_group& shared(role kind);
  /// One of the groups of the scheduler, `i` modulo their number.
  actor_group& of_scheduler(uint32_t i);
  /// Model queues live in the groups of the scheduler, those of later models too.
  void expect_queues();
  /// The group of the model queue with this index, modulo likewise.
  actor_group& of_queue(uint32_t i);

  /// Spawns the CAF hosts in the order of their groups and tells the post where each actor is. Once.
  void spawn(const on_broken& broken);

 private:
  post& post_;
  const caf_host_part& hosts_;
  std::vector<std::unique_ptr<actor_group>> groups_;
  std::vector<actor_group*> scheduler_;    // none where each actor has a group of its own
  std::vector<actor_group*> with_queues_;  // in the order of the queues
  std::map<role, actor_group*> shared_;
};

}  // namespace troupe

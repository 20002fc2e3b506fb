// host_plan assigns the actors of a node to groups, and the groups to CAF hosts. Actors of one group share a
// thread.
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

/// References to groups are valid until `spawn`, which moves the groups into their CAF hosts. Empty groups
/// get no host, except those reserved for model queues. With `caf_host_part::one_per_actor` each actor has a
/// group of its own.
class host_plan {
 public:
  /// `scheduler_threads`: number of groups for `of_scheduler`, at least 1. `post` outlives the groups.
  host_plan(post& post, const caf_host_part& hosts, uint32_t scheduler_threads);

  /// A new group, for an actor that would delay others.
  actor_group& own();
  /// The group of all actors of this kind.
  actor_group& shared(role kind);
  /// The scheduler group `i` modulo their number.
  actor_group& of_scheduler(uint32_t i);
  /// Reserves the scheduler groups for model queues, including those of models that are deployed later.
  void expect_queues();
  /// The group of model queue `i`: the scheduler group `i` modulo their number.
  actor_group& of_queue(uint32_t i);

  /// Spawns the CAF hosts in the order of their groups and registers them with the post. Called once.
  void spawn(const on_broken& broken);

 private:
  post& post_;
  const caf_host_part& hosts_;
  message_sink& sink_;  ///< of groups
  std::vector<std::unique_ptr<actor_group>> groups_;
  std::vector<actor_group*> scheduler_;    // empty with `one_per_actor`
  std::vector<actor_group*> with_queues_;  // by queue index modulo its size
  std::map<role, actor_group*> shared_;
};

}  // namespace troupe

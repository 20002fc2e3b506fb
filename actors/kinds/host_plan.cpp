#include "actors/kinds/host_plan.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

host_plan::host_plan(post& post, const caf_host_part& hosts, uint32_t scheduler_threads)
    : post_(post), hosts_(hosts), sink_(hosts.watch_sent ? hosts.watch_sent(post) : post) {
  if (hosts.one_per_actor) return;
  do scheduler_.push_back(&own());
  while (scheduler_.size() < scheduler_threads);
}

actor_group& host_plan::own() { return *groups_.emplace_back(std::make_unique<actor_group>(sink_)); }

actor_group& host_plan::shared(role kind) {
  if (hosts_.one_per_actor) return own();
  auto& group = shared_[kind];
  if (group == nullptr) group = &own();
  return *group;
}

actor_group& host_plan::of_scheduler(uint32_t i) {
  return hosts_.one_per_actor ? own() : *scheduler_[i % scheduler_.size()];
}

void host_plan::expect_queues() { with_queues_ = scheduler_; }

actor_group& host_plan::of_queue(uint32_t i) {
  auto& group = of_scheduler(i);
  if (hosts_.one_per_actor) with_queues_.push_back(&group);
  return group;
}

void host_plan::spawn(const on_broken& broken) {
  std::vector<caf::actor> queue_hosts(with_queues_.size());
  for (auto& g : groups_) {
    const auto place = std::find(with_queues_.begin(), with_queues_.end(), g.get());
    const auto actors = g->names();
    if (actors.empty() && place == with_queues_.end()) continue;
    const auto caf_host = hosts_.spawn(std::move(g), broken);
    post_.add_caf_host(caf_host, actors);
    if (place != with_queues_.end())
      queue_hosts[static_cast<size_t>(place - with_queues_.begin())] = caf_host;
  }
  post_.set_queue_caf_hosts(queue_hosts);
}

}  // namespace troupe

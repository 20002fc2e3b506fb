#include "actors/cluster/placer.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "messages/cluster/reserved_bytes.hpp"
#include "messages/commands/run_command.hpp"
#include "policies/placement/partition_search.hpp"

namespace troupe {

placer::placer(address self, outbox& out, const cluster_spec& cluster) : actor(self, out), cluster_(cluster) {
  for (const auto& d : cluster.domains) {
    partition_part part;
    part.name = d.name;
    if (d.max_rate_rps > 0) part.max_rate = d.max_rate_rps;
    problem_.parts.push_back(part);
  }
  std::vector<double> slots(problem_.parts.size());
  for (const auto& s : cluster.slots) {
    const auto d = cluster.nodes[s.node.value].domain;
    ++slots[d];
    auto& max_bytes = problem_.parts[d].max_bytes;
    if (s.memory_bytes > 0)
      max_bytes = std::min(
          max_bytes, static_cast<double>(s.memory_bytes - std::min(s.memory_bytes, reserved_bytes(s.kind))));
  }
  for (size_t d = 0; d < slots.size(); ++d) problem_.parts[d].size = std::max(1.0, slots[d]);
  problem_.memory_weight = cluster.placer.memory_weight;
  problem_.max_cost = 2.0 * cluster.placer.max_moves;  // a move is an unloading and a loading, 1 each
}

void placer::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](model_change& c) { lines_[c.line.model] = c.line; },
                       [&](received_requests& r) { on_answer(r, now); },
                       [&](new_incarnation&) {
                         samples_.clear();
                         rates_.clear();
                         asked_.clear();
                         planned_.clear();
                         moving_.reset();
                       },
                   });
}

void placer::on_time(time_point now) {
  if (next_epoch_ == long_ago) next_epoch_ = now + cluster_.placer.epoch;
  if (now >= next_epoch_) begin_epoch(now);
  if (std::exchange(complete_, false)) plan();
  start_next_move();
}

bool placer::is_served(model_id model) const {
  const auto line = lines_.find(model);
  return line != lines_.end() && line->second.wanted == deployment_state::deployed;
}

void placer::begin_epoch(time_point now) {
  next_epoch_ = now + cluster_.placer.epoch;
  // Moves that were refused, or have not begun by now, are planned again.
  planned_.clear();
  if (moving_ && (!is_served(moving_->model) || !lines_.at(moving_->model).moves())) moving_.reset();
  asked_.clear();
  complete_ = false;
  rates_.clear();
  std::erase_if(samples_, [&](const auto& s) { return !is_served(s.first); });
  for (const auto& [model, line] : lines_) {
    if (!is_served(model)) continue;
    asked_[next_token_] = model;
    send(on_node(self_.node, role::model_queue, model.value), query_received{next_token_++});
  }
}

void placer::on_answer(const received_requests& r, time_point now) {
  const auto asked = asked_.find(r.token);
  if (asked == asked_.end()) return;
  const auto model = asked->second;
  asked_.erase(asked);
  auto& s = samples_[model];
  // A new queue counts from zero.
  const auto earlier = r.requests >= s.received ? s.received : 0;
  if (s.at != never && now > s.at)
    rates_[model] = static_cast<double>(r.requests - earlier) / to_seconds(now - s.at);
  s = {r.requests, now};
  complete_ = asked_.empty();
}

void placer::plan() {
  if (moving_) return;
  std::vector<model_id> models;
  problem_.models.clear();
  problem_.current.clear();
  for (const auto& [model, line] : lines_) {
    if (!is_served(model)) continue;
    if (line.moves() || line.domain >= problem_.parts.size() || !rates_.contains(model))
      return;  // not known yet
    const auto& m = line.definition;
    problem_.models.push_back(
        {m.name, rates_.at(model), static_cast<double>(m.memory_bytes), static_cast<double>(m.batch_bytes)});
    problem_.current.push_back(line.domain);
    models.push_back(model);
  }
  if (models.empty()) return;
  ++epochs_;
  quality_ = judge(problem_, problem_.current);
  const auto found = search_partition(problem_, epochs_, {cluster_.placer.steps, {}});
  if (!found.problem.empty() && found.problem != problem_text_)
    spdlog::warn("event=no_partition reason=\"{}\"", found.problem);
  problem_text_ = found.problem;
  if (!found.problem.empty()) return;
  const bool mends = !quality_.feasible();
  if (!mends && quality_.objective - found.quality.objective < cluster_.placer.min_gain) return;
  for (size_t i = 0; i < models.size(); ++i)
    if (found.assignment[i] != problem_.current[i]) planned_.push_back({models[i], found.assignment[i]});
}

/// Starts the next move once the previous one is over.
void placer::start_next_move() {
  if (moving_) {
    const bool over = !is_served(moving_->model) ||
                      (lines_.at(moving_->model).domain == moving_->to && !lines_.at(moving_->model).moves());
    if (!over) return;
    moving_.reset();
  }
  while (!planned_.empty()) {
    const auto next = planned_.front();
    planned_.pop_front();
    if (!is_served(next.model) || lines_.at(next.model).domain == next.to) continue;
    moving_ = next;
    ++moves_;
    send(on_node(self_.node, role::deployer),
         move_model{0, lines_.at(next.model).definition.name, cluster_.domains[next.to].name, {}});
    return;
  }
}

placer_state placer::describe() const {
  placer_state s;
  s.epochs = epochs_;
  s.moves = moves_;
  s.planned = static_cast<uint32_t>(planned_.size());
  if (moving_ && is_served(moving_->model)) s.moving = lines_.at(moving_->model).definition.name;
  s.rate_imbalance = quality_.rate_imbalance;
  s.memory_imbalance = quality_.memory_imbalance;
  s.problem = problem_text_;
  return s;
}

command_reply placer::on_command(const command& c, time_point) {
  return run_command(placer_commands{}, c, [&](const get_state&) { return describe(); });
}

void placer::report(std::vector<metric>& out) const {
  using enum metric::kind;
  out.push_back({"troupe_placer_epochs_total", {}, static_cast<double>(epochs_), counter});
  out.push_back({"troupe_placer_moves_total", {}, static_cast<double>(moves_), counter});
  out.push_back({"troupe_placer_rate_imbalance", {}, quality_.rate_imbalance, gauge});
  out.push_back({"troupe_placer_memory_imbalance", {}, quality_.memory_imbalance, gauge});
}

}  // namespace troupe

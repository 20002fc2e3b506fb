#include "actors/scaling/parameter_shard.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

void parameter_shard::holding::let_go() {
  if (images) images->forget(listener);
  images.reset();
}

void parameter_shard::on(envelope& e, time_point now) {
  dispatch(e.body, overloaded{
                       [&](place_copy& o) {
                         if (obeys(o.term)) place(o);
                       },
                       [&](drop_copy& o) {
                         if (obeys(o.term) && !are_model_files(o.model)) drop(o.model);
                       },
                       [&](leadership& l) { learn_term(l.term); },
                       [&](follow_chunks& f) {
                         const auto held = holdings_.find(f.model);
                         followers_.follow(e.from, f,
                                           held == holdings_.end() ? nullptr : held->second.images);
                       },
                       [&](unfollow_chunks& u) { followers_.unfollow(e.from, u); },
                       [&](link_changed& l) { on_link(l); },
                       [&](rate_measured& r) {
                         rates_.on_measured({r.from, r.gbit_per_s});
                         changed_ = true;
                       },
                       [&](images_changed&) { changed_ = true; },
                       [&](model_change& m) { on_deployment(m.line); },
                       [&](node_up& n) {
                         nodes_up_.add(n);
                         followers_.up(n);
                         if (std::ranges::count(options_.pools, n.node) > 0) changed_ = true, sent_.reset();
                       },
                       [&](node_down& n) {
                         nodes_up_.remove(n);
                         followers_.down(n, now);
                       },
                       [&](new_incarnation&) {
                         nodes_up_.clear();
                         followers_.lose_all(now);
                         sent_.reset();
                         changed_ = true;
                       },
                   });
}

bool parameter_shard::obeys(term_id term) {
  if (term < term_ && !planted(bug::old_orders)) return false;
  learn_term(term);
  return true;
}

/// The pool of a new leader waits for an inventory of its term.
void parameter_shard::learn_term(term_id term) {
  if (term <= term_) return;
  term_ = term;
  changed_ = true;
}

/// Wants the files of models that the log assigns to this node, and drops the others.
void parameter_shard::on_deployment(const deployment& line) {
  if (!options_.files_of || line.definition.path.empty() || line.wanted == deployment_state::retiring) return;
  const auto files = options_.files_of(line.model);
  changed_ = true;
  if (!line.held_in(options_.domain)) {
    if (wanted_.withdraw(line.model, files)) drop(files);
  } else if (wanted_.assign(line.model, files, line.definition.name)) {
    if (holdings_.try_emplace(files).second) store_.locate(files, line.definition.path);
  }
}

/// Tells the deployer to load the models whose files are here, or do not come.
void parameter_shard::settle_files(time_point now) {
  const auto settled = wanted_.settle(
      [&](weights_id files) {
        const auto held = holdings_.find(files);
        return held == holdings_.end() ? std::nullopt : std::optional(state_of(files, held->second));
      },
      now);
  for (const auto m : settled.models) send(on_node(self_.node, role::deployer), files_settled{m});
  for (const auto& f : settled.without) {
    spdlog::warn("event=files_from_disk node={} model={} reason=\"{}\"", self_.node.value, f.name, f.problem);
    drop(f.files);
  }
}

address parameter_shard::link_of(weights_id model) const {
  return on_node(self_.node, role::chain_link, are_model_files(model) ? options_.files_link : model.value);
}

void parameter_shard::place(const place_copy& order) {
  const bool files = are_model_files(order.model);
  if (files && !holdings_.contains(order.model)) return;  // undeployed meanwhile
  auto& h = holdings_[order.model];
  const bool reads = order.from == self_.node;
  const auto bytes = reads ? store_.bytes(order.model) : order.bytes;
  if (h.images && (h.images->failed() || (files && !h.images->complete() && h.images->bytes() != bytes)))
    forget_images(order.model, h);
  if (!h.images) get_images(order.model, h, bytes);
  changed_ = true;
  if (!h.images || h.images->complete() || h.reading) return;
  if (h.read_next || (!reads && h.from == order.from)) return;
  h.from = reads ? std::nullopt : std::optional(order.from);
  h.read_next = reads;
  fill(order.model, h);
}

void parameter_shard::forget_images(weights_id model, holding& h) {
  h.let_go();
  h.from.reset();
  rates_.on_no_reading(model);
  followers_.drop(model);
}

/// Images that were dropped are taken up again if they are still in memory, perhaps with their reader.
void parameter_shard::get_images(weights_id model, holding& h, uint64_t bytes) {
  h.problem.clear();
  try {
    h.images = store_.find(model);
    if (h.images && are_model_files(model) && h.images->bytes() != bytes) h.images.reset();
    if (!h.images) h.images = store_.create(model, bytes);
    h.listener = h.images->listen(options_.notify);
    const auto& w = writers_[model];
    h.reading = h.images->being_read();
    h.pulled_before = w.pulled, h.repeated_before = w.repeated;
  } catch (const std::bad_alloc&) {
    if (followers_.dropped_bytes() > 0) return;  // they make room, and the pool repeats its order
    h.problem = "the node has no room for the images of the model: raise parameter_mb of the [[node]]";
  } catch (const std::exception& e) {
    h.problem = e.what();
  }
}

/// Begins to fill images as ordered. The reader waits until the link writes no more.
void parameter_shard::fill(weights_id model, holding& h) {
  auto& w = writers_[model];
  if (h.from) {
    w.link_busy = true;
    send(link_of(model), begin_link{model, *h.from, ++w.order});
  } else if (w.link_busy) {
    send(link_of(model), end_link{model, ++w.order});
  } else {
    read(model, h);
  }
}

void parameter_shard::read(weights_id model, holding& h) {
  h.read_next = false;
  h.reading = true;
  try {
    store_.read(model, h.images);
  } catch (const std::exception& e) {
    h.images->fail(e.what());
  }
}

void parameter_shard::drop(weights_id model) {
  const auto found = holdings_.find(model);
  if (found == holdings_.end()) return;
  if (auto& w = writers_[model]; w.link_busy) send(link_of(model), end_link{model, ++w.order});
  holdings_.erase(found);
  rates_.on_no_reading(model);
  followers_.drop(model);
  changed_ = true;
}

/// What the link says from before it knew the latest order is void.
void parameter_shard::on_link(const link_changed& l) {
  auto& w = writers_[l.model];
  w.pulled = l.pulled, w.repeated = l.repeated;
  changed_ = true;
  if (l.order != w.order) return;
  w.link_busy = l.busy;
  const auto held = holdings_.find(l.model);
  if (held == holdings_.end()) return;
  auto& h = held->second;
  h.from = l.linked ? std::optional(l.from) : std::nullopt;
  if (!l.busy && h.images && h.images->complete()) sent_at_ = long_ago;  // the last chunk counts: no waiting
  if (h.read_next && !w.link_busy) read(l.model, h);
}

image_state parameter_shard::state_of(weights_id model, const holding& h) const {
  image_state s;
  s.model = model;
  s.problem = h.problem;
  const auto w = writers_.find(model);
  if (w != writers_.end())
    s.pulled = w->second.pulled - h.pulled_before, s.repeated = w->second.repeated - h.repeated_before;
  if (are_model_files(model)) s.on_disk = store_.bytes(model);
  if (!h.images) return s;
  s.chunks = static_cast<uint32_t>(h.images->chunks().size());
  s.ready = h.images->chunks_ready();
  // Images say at once that their last chunk is ready, and the link a moment later how many bytes it pulled.
  // The chunk counts with these.
  if (s.complete() && w != writers_.end() && w->second.link_busy) --s.ready;
  s.bytes = h.images->bytes();
  if (h.images->failed()) s.problem = h.images->problem();
  s.filling = !s.complete() && s.problem.empty() && (h.reading || h.read_next || h.from);
  if (s.filling) s.from = h.from.value_or(self_.node);
  return s;
}

shard_inventory parameter_shard::inventory() const {
  shard_inventory out{self_.node, store_.capacity(), {}, term_, rates_.peers(), rates_.disk_gbit_per_s()};
  for (const auto& [model, h] : holdings_) out.images.push_back(state_of(model, h));
  return out;
}

void parameter_shard::on_time(time_point now) {
  for (auto& [model, h] : holdings_)
    if (h.images && h.images->failed()) {  // others need their memory
      h.problem = h.images->problem();
      h.reading = h.read_next = false;
      forget_images(model, h);
    }
  for (const auto& [model, h] : holdings_)
    if (h.images && h.reading)
      rates_.on_reading(model, h.images->chunks(), h.images->chunks_ready(), now);
    else
      rates_.on_no_reading(model);
  settle_files(now);
  for (auto& [link, news] : followers_.news(now)) send(link, std::move(news));
  if (!changed_ || now < sent_at_ + options_.inventory_interval) return;
  changed_ = false;
  sent_at_ = now;
  auto news = inventory();
  if (sent_ == news) return;
  for (const auto n : options_.pools)
    if (nodes_up_.contains(n)) send(on_node(n, role::parameter_pool), news);
  sent_ = std::move(news);
}

time_point parameter_shard::next_wakeup() const {
  return std::min({changed_ ? sent_at_ + options_.inventory_interval : never, wanted_.next_wakeup(),
                   followers_.next_wakeup()});
}

command_reply parameter_shard::on_command(const command& c, time_point) {
  return run_command(parameter_shard_commands{}, c, [&](const get_state&) {
    parameter_shard_state s;
    s.capacity = store_.capacity();
    for (const auto& [_, h] : holdings_)
      if (h.images) s.in_use += h.images->bytes();
    s.dropped = followers_.dropped_bytes();
    s.models = static_cast<uint32_t>(holdings_.size());
    s.followers = followers_.size();
    return s;
  });
}

void parameter_shard::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const auto now = inventory();
  uint64_t bytes = 0;
  for (const auto& i : now.images) bytes += i.bytes;
  out.push_back({"troupe_parameter_bytes", {}, static_cast<double>(bytes), gauge});
  out.push_back(
      {"troupe_parameter_dropped_bytes", {}, static_cast<double>(followers_.dropped_bytes()), gauge});
  out.push_back({"troupe_parameter_capacity_bytes", {}, static_cast<double>(now.capacity), gauge});
}

}  // namespace troupe

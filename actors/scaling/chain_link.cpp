#include "actors/scaling/chain_link.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "actors/common/planted_bug.hpp"
#include "gpu/common/fast_hash.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {
namespace {

constexpr duration pull_again = 20ms;  // after one failed: by then its node is up again, or known to be down
constexpr duration patience = 1s;      // without a good chunk; then the leader is asked for a source again

}  // namespace

void chain_link::on(envelope& e, time_point now) {
  const auto with_source = [&](auto&& change) {
    for (auto& [_, l] : links_)
      if (l.from) change(l);
  };
  dispatch(e.body,
           overloaded{
               [&](begin_link& b) {
                 auto& l = links_[b.model];
                 l.model = b.model;
                 l.order = b.order;
                 begin(l, b.from);
               },
               [&](end_link& end) {
                 auto& l = links_[end.model];
                 l.model = end.model;
                 l.order = end.order;
                 l.next.reset();
                 lose_source(l);
               },
               [&](chunks_ready& c) {
                 const auto l = links_.find(c.model);
                 if (l != links_.end() && l->second.from == e.from.node && c.follow == l->second.follow)
                   on_chunks(l->second, c);
               },
               [&](pulled& p) { on_pulled(p, now); },
               [&](model_change& m) { names_.learn(m); },
               [&](node_up& n) {
                 nodes_up_.add(n);
                 with_source([&](link& l) {
                   if (l.from == n.node) lose_source(l);  // its new incarnation knows of no follower
                 });
               },
               [&](node_down& n) {
                 nodes_up_.remove(n);
                 with_source([&](link& l) {
                   if (l.from == n.node && !nodes_up_.contains(n.node)) lose_source(l);
                 });
               },
               [&](new_incarnation&) {
                 nodes_up_.clear();
                 with_source([&](link& l) { lose_source(l); });
               },
           });
}

void chain_link::begin(link& l, node_id from) {
  l.from.reset();
  auto images = store_.find(l.model);
  const bool others = images != l.images.get();
  if (others && l.pulls > 0) {  // they write to the former images
    l.next = from;
    return;
  }
  l.next.reset();
  if (others) {
    leave_images(l);
    l.images = llm::kept_images(std::move(images));
  }
  if (!l.images || l.images->complete() || !nodes_up_.contains(from)) return lose_source(l);
  if (!l.transfer)
    l.transfer.emplace(l.images->chunks(), l.images->layers(), window_, l.images->chunks_ready());
  else
    l.transfer->relink();
  l.hashes.resize(l.images->chunks().size());
  l.failing_since = never;
  l.waits = false;
  l.from = from;
  flows_->begin(from);
  l.sources[++l.follow] = {from};
  send(on_node(from, role::parameter_shard), follow_chunks{l.model, l.follow, l.transfer->ready()});
  tell_shard(l);
}

void chain_link::on_chunks(link& l, const chunks_ready& c) {
  if (c.gone) return lose_source(l);
  l.source_offset = c.offset;
  for (size_t i = 0; i < c.hashes.size() && c.first + i < l.hashes.size(); ++i)
    l.hashes[c.first + i] = c.hashes[i];
  l.transfer->announce(c.first + static_cast<uint32_t>(c.hashes.size()));
}

void chain_link::on_pulled(const pulled& p, time_point now) {
  const auto ended = pulls_.extract(p.token);
  if (!ended) return;
  const auto chunk = ended.mapped().chunk;
  auto& l = links_.at(ended.mapped().model);
  --l.pulls;
  --l.sources.at(ended.mapped().follow).pulls;
  auto how = chunk_outcome::lost;
  if (p.status == pull_status::ok)
    how = fast_hash(l.images->chunk_memory(chunk)) == l.hashes[chunk] || planted(bug::stale_chunk)
              ? chunk_outcome::good
              : chunk_outcome::damaged;
  l.transfer->ended(chunk, how);
  measure(ended.mapped(), p.status == pull_status::ok ? (*l.transfer)[chunk].bytes : 0, now);
  if (how == chunk_outcome::good) log_progress(l, chunk, now);
  if (how == chunk_outcome::good) {
    l.failing_since = never;
    finish_chunks(l);
  } else {
    l.resume_at = now + pull_again, l.waits = true;
    l.failing_since = std::min(l.failing_since, now);
    if (l.from && now - l.failing_since >= patience) lose_source(l);
  }
  end_if_done(l);
}

void chain_link::measure(const pull& p, uint64_t bytes, time_point now) {
  if (const auto rate = flows_->end(p.from, bytes, p.posted, now))
    send(on_node(self_.node, role::parameter_shard), rate_measured{p.from, *rate});
}

void chain_link::log_progress(const link& l, uint32_t chunk, time_point now) const {
  const auto log = [&](const char* event) {
    spdlog::info("event={} node={} model={} chunk={} of={} seconds={:.3f}", event,
                 node_name(cluster_, self_.node), names_.of(l.model), chunk + 1, l.transfer->size(),
                 to_seconds(now - l.first_pull));
  };
  if (l.transfer->bytes_arrived() == (*l.transfer)[chunk].bytes) log("weights_begin");
  if (l.transfer->complete()) log("weights_complete");
}

/// Chunks become ready in their order.
void chain_link::finish_chunks(link& l) {
  if (l.images->failed()) return;
  while (l.images->chunks_ready() < l.transfer->ready())
    l.images->finish_chunk(l.hashes[l.images->chunks_ready()]);
}

/// The images are kept while pulls write to them.
void chain_link::lose_source(link& l) {
  l.from.reset();
  if (l.pulls > 0) return tell_shard(l);
  end_if_done(l);
}

/// Unfollows sources without pulls, so that they can give the memory back.
void chain_link::leave_sources(link& l) {
  std::erase_if(l.sources, [&](const auto& s) {
    const auto& [follow, from] = s;
    if (from.pulls > 0 || (l.from && follow == l.follow)) return false;
    if (nodes_up_.contains(from.node))
      send(on_node(from.node, role::parameter_shard), unfollow_chunks{l.model, follow});
    return true;
  });
}

void chain_link::end_if_done(link& l) {
  if (l.transfer && l.transfer->complete()) l.from.reset();
  if (l.from || l.pulls > 0) return;
  leave_images(l);
  if (l.next) return begin(l, *l.next);
  tell_shard(l);
}

void chain_link::leave_images(link& l) {
  l.pulled_before = l.bytes_pulled();
  l.repeated_before = l.bytes_repeated();
  l.damaged_before = l.damaged();
  l.transfer.reset();
  l.first_pull = never;
  l.hashes.clear();
  l.images.reset();
}

void chain_link::tell_shard(const link& l) {
  send(on_node(self_.node, role::parameter_shard),
       link_changed{l.model, l.order, l.from.has_value() || l.pulls > 0, l.from.has_value(),
                    l.from.value_or(node_id{}), l.bytes_pulled(), l.bytes_repeated()});
}

void chain_link::on_time(time_point now) {
  for (auto& [_, l] : links_) {
    if (now >= l.resume_at) l.resume_at = never, l.waits = false;
    if (l.from && !l.waits) start_pulls(l, now);
    leave_sources(l);
  }
}

void chain_link::start_pulls(link& l, time_point now) {
  while (const auto chunk = l.transfer->next()) {
    if (!l.images->make_present(*chunk)) {
      l.transfer->ended(*chunk, chunk_outcome::lost);
      return lose_source(l);
    }
    l.first_pull = std::min(l.first_pull, now);
    const auto token = ++last_token_;
    pulls_[token] = {l.model, *chunk, l.follow, *l.from, now};
    ++l.pulls;
    ++l.sources.at(l.follow).pulls;
    flows_->post(*l.from);
    const auto at = planted(bug::same_offset) ? (*l.transfer)[*chunk].offset : l.images->offset_of(*chunk);
    memory_.pull(*l.from, l.source_offset + at, l.images->chunk_memory(*chunk), self_, token);
  }
}

time_point chain_link::next_wakeup() const {
  auto out = never;
  for (const auto& [_, l] : links_) out = std::min(out, l.resume_at);
  return out;
}

std::string_view chain_link::state() const {
  return std::ranges::any_of(links_, [](const auto& l) { return l.second.from.has_value(); }) ? "pulling"
                                                                                              : "idle";
}

command_reply chain_link::on_command(const command& c, time_point) {
  return run_command(chain_link_commands{}, c, [&](const get_state&) {
    chain_link_state out;
    for (const auto& [model, l] : links_) {
      link_state s;
      s.model = names_.of(model);
      if (l.from) s.from = node_name(cluster_, *l.from);
      s.pulled = l.bytes_pulled(), s.repeated = l.bytes_repeated(), s.damaged = l.damaged();
      if (l.transfer) {
        s.chunks = l.transfer->size();
        s.ready = l.transfer->ready();
        s.in_flight = l.transfer->in_flight();
      }
      out.links.push_back(std::move(s));
    }
    return out;
  });
}

void chain_link::report(std::vector<metric>& out) const {
  using enum metric::kind;
  for (const auto& [model, l] : links_) {
    const auto add = [&, name = names_.of(model)](const char* what, uint64_t value) {
      out.push_back({what, {{"model", name}}, static_cast<double>(value), counter});
    };
    add("troupe_chain_bytes_pulled_total", l.bytes_pulled());
    add("troupe_chain_bytes_repeated_total", l.bytes_repeated());
    add("troupe_chain_chunks_damaged_total", l.damaged());
  }
}

}  // namespace troupe

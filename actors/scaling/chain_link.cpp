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
  dispatch(e.body, overloaded{
                       [&](begin_link& b) {
                         order_ = b.order;
                         begin(b.from);
                       },
                       [&](end_link& l) {
                         order_ = l.order;
                         next_.reset();
                         lose_source();
                       },
                       [&](chunks_ready& c) {
                         if (from_ && e.from.node == *from_ && c.follow == follow_) on_chunks(c);
                       },
                       [&](pulled& p) { on_pulled(p, now); },
                       [&](node_up& n) {
                         nodes_up_.add(n);
                         if (from_ == n.node) lose_source();  // its new incarnation knows of no follower
                       },
                       [&](node_down& n) {
                         nodes_up_.remove(n);
                         if (from_ == n.node && !nodes_up_.contains(n.node)) lose_source();
                       },
                       [&](new_incarnation&) {
                         nodes_up_.clear();
                         if (from_) lose_source();
                       },
                   });
}

void chain_link::begin(node_id from) {
  from_.reset();
  const auto images = store_.find(options_.model);
  if (images != images_ && !pulls_.empty()) {  // they write to the former images
    next_ = from;
    return;
  }
  next_.reset();
  if (images != images_) {
    leave_images();
    images_ = images;
  }
  if (!images_ || images_->complete() || !nodes_up_.contains(from)) return lose_source();
  if (!transfer_)
    transfer_.emplace(images_->chunks(), images_->layers(), options_.window, images_->chunks_ready());
  else
    transfer_->relink();
  hashes_.resize(images_->chunks().size());
  failing_since_ = never;
  waits_ = false;
  from_ = from;
  send(on_node(from, role::parameter_shard), follow_chunks{options_.model, ++follow_, transfer_->ready()});
  tell_shard();
}

void chain_link::on_chunks(const chunks_ready& c) {
  if (c.gone) return lose_source();
  source_offset_ = c.offset;
  for (size_t i = 0; i < c.hashes.size() && c.first + i < hashes_.size(); ++i)
    hashes_[c.first + i] = c.hashes[i];
  transfer_->announce(c.first + static_cast<uint32_t>(c.hashes.size()));
}

void chain_link::on_pulled(const pulled& p, time_point now) {
  const auto pull = pulls_.extract(p.token);
  if (!pull) return;
  const auto chunk = pull.mapped();
  auto how = chunk_outcome::lost;
  if (p.status == pull_status::ok)
    how = fast_hash(images_->chunk_memory(chunk)) == hashes_[chunk] || planted(bug::stale_chunk)
              ? chunk_outcome::good
              : chunk_outcome::damaged;
  transfer_->ended(chunk, how);
  log_progress(chunk, how, now);
  if (how == chunk_outcome::good) {
    failing_since_ = never;
    finish_chunks();
  } else {
    resume_at_ = now + pull_again, waits_ = true;
    failing_since_ = std::min(failing_since_, now);
    if (from_ && now - failing_since_ >= patience) lose_source();
  }
  end_if_done();
}

void chain_link::log_progress(uint32_t chunk, chunk_outcome how, time_point now) {
  if (how != chunk_outcome::good) return;
  const auto log = [&](const char* event) {
    spdlog::info("event={} node={} model={} chunk={} of={} seconds={:.3f}", event,
                 node_name(cluster_, self_.node), cluster_.llms[options_.model.value].name, chunk + 1,
                 transfer_->size(), to_seconds(now - first_pull_));
  };
  if (transfer_->bytes_arrived() == (*transfer_)[chunk].bytes) log("weights_begin");
  if (transfer_->complete()) log("weights_complete");
}

/// Chunks become ready in their order.
void chain_link::finish_chunks() {
  while (images_->chunks_ready() < transfer_->ready())
    images_->finish_chunk(hashes_[images_->chunks_ready()]);
}

/// The images are kept while pulls write to them.
void chain_link::lose_source() {
  from_.reset();
  if (!pulls_.empty()) return tell_shard();
  end_if_done();
}

void chain_link::end_if_done() {
  if (transfer_ && transfer_->complete()) from_.reset();
  if (from_ || !pulls_.empty()) return;
  leave_images();
  if (next_) return begin(*next_);
  tell_shard();
}

void chain_link::leave_images() {
  if (transfer_) {
    pulled_before_ += transfer_->bytes_arrived();
    repeated_before_ += transfer_->bytes_repeated();
    damaged_before_ += transfer_->damaged();
  }
  transfer_.reset();
  first_pull_ = never;
  hashes_.clear();
  images_.reset();
}

void chain_link::tell_shard() {
  link_changed l{options_.model,
                 order_,
                 from_.has_value() || !pulls_.empty(),
                 from_.has_value(),
                 from_.value_or(node_id{}),
                 pulled_before_,
                 repeated_before_};
  if (transfer_) l.pulled += transfer_->bytes_arrived(), l.repeated += transfer_->bytes_repeated();
  send(on_node(self_.node, role::parameter_shard), l);
}

void chain_link::on_time(time_point now) {
  if (now >= resume_at_) resume_at_ = never, waits_ = false;
  if (!from_ || waits_) return;
  while (const auto chunk = transfer_->next()) {
    if (!images_->make_present(*chunk)) {
      transfer_->ended(*chunk, chunk_outcome::lost);
      return lose_source();
    }
    const auto token = ++last_token_;
    pulls_[token] = *chunk;
    first_pull_ = std::min(first_pull_, now);
    const auto at = planted(bug::same_offset) ? (*transfer_)[*chunk].offset : images_->offset_of(*chunk);
    memory_.pull(*from_, source_offset_ + at, images_->chunk_memory(*chunk), self_, token);
  }
}

command_reply chain_link::on_command(const command& c, time_point) {
  return run_command(chain_link_commands{}, c, [&](const get_state&) {
    chain_link_state s;
    s.model = cluster_.llms[options_.model.value].name;
    if (from_) s.from = node_name(cluster_, *from_);
    s.pulled = pulled_before_, s.repeated = repeated_before_, s.damaged = damaged_before_;
    if (!transfer_) return s;
    s.chunks = transfer_->size();
    s.ready = transfer_->ready();
    s.in_flight = transfer_->in_flight();
    s.pulled += transfer_->bytes_arrived();
    s.repeated += transfer_->bytes_repeated();
    s.damaged += transfer_->damaged();
    return s;
  });
}

void chain_link::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const auto add = [&](const char* name, uint64_t before, uint64_t now) {
    out.push_back({name,
                   {{"model", cluster_.llms[options_.model.value].name}},
                   static_cast<double>(before + now),
                   counter});
  };
  add("troupe_chain_bytes_pulled_total", pulled_before_, transfer_ ? transfer_->bytes_arrived() : 0);
  add("troupe_chain_bytes_repeated_total", repeated_before_, transfer_ ? transfer_->bytes_repeated() : 0);
  add("troupe_chain_chunks_damaged_total", damaged_before_, transfer_ ? transfer_->damaged() : 0);
}

}  // namespace troupe

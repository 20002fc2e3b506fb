#include "actors/llm/kv_pulls.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

bool kv_pulls::fits(const kv_offer& o, llm::engine_device& device, const llm::engine_facts& facts) {
  const auto has_blocks = [&](const kv_part& p) {
    return p.positions > 0 && p.blocks.size() * uint64_t{facts.block_tokens} >= p.positions;
  };
  return o.lease && !o.parts.empty() && o.block_bytes == facts.block_bytes &&
         o.block_tokens == facts.block_tokens && std::ranges::all_of(o.parts, has_blocks) &&
         !device.kv_memory().bytes.empty();
}

void kv_pulls::expect(request_id id, kv_offer o) {
  forget(id);
  const auto parts = o.parts.size();
  offers_.emplace(id, std::make_shared<kept_offer>(kept_offer{std::move(o), parts, 0}));
}

void kv_pulls::forget(request_id id) {
  const auto known = offers_.extract(id);
  if (!known) return;
  known.mapped()->parts_left = 0;
  settle(*known.mapped());
}

std::optional<kv_offer> kv_pulls::take(request_id id) {
  const auto known = offers_.find(id);
  if (known == offers_.end() || known->second->parts_left < known->second->what.parts.size()) return {};
  return std::move(offers_.extract(known).mapped()->what);
}

void kv_pulls::skip(request_id id) {
  const auto offer = offers_.at(id);
  if (--offer->parts_left > 0) return;
  offers_.erase(id);
  settle(*offer);
}

/// An offer that is over goes back to its engine.
void kv_pulls::settle(kept_offer& o) {
  if (o.parts_left == 0 && o.pulling == 0) unused_.push_back(std::move(o.what));
}

void kv_pulls::begin(request_id id, uint32_t choice, const llm::step_scheduler::arrival& to,
                     std::span<std::byte> kv) {
  const auto offer = offers_.at(id);
  const auto& from = offer->what;
  const auto part = std::ranges::find(from.parts, choice, &kv_part::choice);
  ++offer->pulling;  // before `skip`, which ends an offer without parts and pulls
  skip(id);
  pull p{offer, {to.id, {}, false}, to.positions - to.first_block * from.block_tokens, 0};
  std::vector<pulled_range> ranges;
  for (auto i = to.first_block; i < to.blocks.size(); ++i) {
    p.end.blocks.push_back(to.blocks[i]);
    ranges.push_back({from.first_block + part->blocks[i] * from.block_bytes,
                      kv.subspan(to.blocks[i] * from.block_bytes, from.block_bytes)});
    p.bytes += from.block_bytes;
  }
  const auto token = ++last_token_;
  pulls_.emplace(token, std::move(p));
  memory_.pull_leased(from.lease, std::move(ranges), self_, token);
}

std::optional<kv_pulls::ended> kv_pulls::on_pulled(const pulled& p) {
  auto known = pulls_.extract(p.token);
  if (!known) return {};
  auto& its = known.mapped();
  its.end.complete = p.status == pull_status::ok;
  ++done_.pulls;
  if (its.end.complete)
    done_.positions += its.positions, done_.bytes += its.bytes;
  else
    ++done_.failed;
  --its.from->pulling;
  settle(*its.from);
  return std::move(its.end);
}

}  // namespace troupe

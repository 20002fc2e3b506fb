#include "actors/llm/kv_leases.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "actors/common/planted_bug.hpp"

namespace troupe {

kv_offer kv_leases::add(engine_id self, request_id request,
                        std::vector<llm::generation_batch::stopped_choice>& choices,
                        llm::engine_device& device, const llm::engine_facts& facts, time_point now) {
  const auto memory = device.kv_memory();
  const bool any = std::ranges::any_of(choices, [](const auto& c) { return c.kept.positions > 0; });
  if (!any || !memory.offset) return {};
  const auto words = memory_.take(0);
  if (!words) return {};
  kv_offer out{words->region, self, *memory.offset, facts.block_bytes, facts.block_tokens, {}};
  lease its{words->region, request, now + limit, {}};
  for (auto& c : choices) {
    const auto used = (c.kept.positions + facts.block_tokens - 1) / facts.block_tokens;
    if (used > 0)
      out.parts.push_back(
          {c.choice,
           static_cast<uint32_t>(c.kept.positions),
           {c.kept.kv.blocks.begin(), c.kept.kv.blocks.begin() + static_cast<ptrdiff_t>(used)}});
    if (!planted(bug::freed_lease)) its.held.push_back(std::exchange(c.kept.kv, {}));
  }
  leases_.emplace(words->region.generation, std::move(its));
  return out;
}

/// The words that vouch for the blocks are wiped before anyone can write to the blocks.
template <class If>
kv_leases::blocks kv_leases::end_where(If&& over) {
  blocks out;
  if (planted(bug::leak_lease)) return out;
  std::erase_if(leases_, [&](auto& l) {
    if (!over(l.second)) return false;
    memory_.give_back(l.second.region);
    std::ranges::move(l.second.held, std::back_inserter(out));
    return true;
  });
  return out;
}

kv_leases::blocks kv_leases::end(const region_ref& region) {
  return end_where([&](const lease& l) { return l.region == region; });
}
kv_leases::blocks kv_leases::end(request_id request) {
  return end_where([&](const lease& l) { return l.request == request; });
}
kv_leases::blocks kv_leases::expire(time_point now) {
  return end_where([&](const lease& l) { return l.ends <= now; });
}
kv_leases::blocks kv_leases::end_all() {
  return end_where([](const lease&) { return true; });
}

}  // namespace troupe

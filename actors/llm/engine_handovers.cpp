#include "actors/llm/engine_handovers.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void engine_handovers::order(const address& gateway, const hand_over& h) {
  if (std::ranges::count(leaving_, h, &leaving_request::order) == 0) leaving_.push_back({gateway, h});
}

std::vector<engine_handovers::departure> engine_handovers::depart(const loaded_engine* engine,
                                                                  time_point now) {
  std::vector<departure> out;
  std::erase_if(leaving_, [&](const leaving_request& l) {
    departure d{l.gateway, {l.order.id, l.order.attempt, {}}, {}};
    const auto* known = engine == nullptr ? nullptr : engine->batch.find(l.order.id);
    if (known != nullptr && known->attempt == l.order.attempt) {
      auto stopped = engine->batch.take(l.order.id);
      if (!stopped) return false;
      d.adapter = stopped->was.adapter;
      if (auto unused = pulls_.take(l.order.id))
        d.answer.kv = std::move(*unused);
      else
        d.answer.kv = leases_.add(id_, l.order.id, stopped->choices, engine->device, engine->facts, now);
      for (auto& c : stopped->choices) engine->batch.scheduler().release(c.kept.kv);
    }
    out.push_back(std::move(d));
    return true;
  });
  return out;
}

kv_leases::blocks engine_handovers::take_back(kv_offer& o, const loaded_engine& engine, bool prefix_cache) {
  if (o.engine != id_) return {};
  size_t blocks = 0;
  for (const auto& p : o.parts) blocks += p.blocks.size();
  if (!prefix_cache && blocks <= engine.batch.scheduler().blocks().available()) return {};
  return leases_.end(std::exchange(o, {}).lease);
}

void engine_handovers::drop_unusable_parts(generation& g, const loaded_engine& engine) {
  auto& parts = g.kv.parts;
  if (!kv_pulls::fits(g.kv, engine.device, engine.facts)) parts.clear();
  if (g.progress.empty()) return;
  std::erase_if(parts, [&](const kv_part& p) {
    return std::ranges::count(g.progress, p.choice, &sequence_progress::choice) == 0;
  });
}

void engine_handovers::accepted(request_id id, kv_offer&& o) {
  if (!o.parts.empty())
    pulls_.expect(id, std::move(o));
  else
    refused(std::move(o));
}

void engine_handovers::refused(kv_offer&& o) {
  if (o.lease) pulls_.refuse(std::move(o));
}

void engine_handovers::begin_pulls(const loaded_engine& engine) {
  for (const auto& a : engine.batch.scheduler().take_arriving())
    if (const auto whose = engine.batch.choice_of(a.id); !whose)
      engine.batch.scheduler().arrived(a.id, false);
    else if (a.blocks.empty())
      pulls_.skip(whose->first);
    else
      pulls_.begin(whose->first, whose->second, a, engine.device.kv_memory().bytes);
}

bool engine_handovers::end_pull(const pulled& p, const loaded_engine& engine) {
  const auto end = pulls_.on_pulled(p);
  if (!end) return false;
  engine.device.on_kv_written(end->blocks);
  engine.batch.scheduler().arrived(end->sequence, end->complete);
  return true;
}

}  // namespace troupe

// Commands and metrics of a router.
#include <algorithm>

#include "actors/llm/router.hpp"
#include "messages/commands/run_command.hpp"

namespace troupe {

llm_router_state llm_router::describe() const {
  llm_router_state s;
  s.model = options_.name;
  s.routing = options_.routing;
  s.requests = static_cast<uint32_t>(requests_.requests().size());
  s.waiting = static_cast<uint32_t>(requests_.waiting());
  s.cached_blocks = requests_.cached_blocks();
  s.wants_more = true;
  for (const auto& [id, node] : options_.engines) {
    const auto& e = requests_.engines().at(id);
    router_engine out;
    out.engine = id.value;
    out.node = node.value;
    out.state = !e.up ? "away" : e.open() ? "open" : "closed";
    out.phase = to_string(e.said.phase);
    out.sequences = e.sequences;
    out.expected = static_cast<uint32_t>(e.expected.size());
    out.running = e.said.running;
    out.waiting = e.said.waiting;
    out.free_tokens = e.free_tokens();
    out.adapters = static_cast<uint32_t>(e.running.size());
    s.idle_engines += e.open() && e.sequences == 0;
    s.wants_more = s.wants_more && (!e.open() || e.full());
    s.engines.push_back(std::move(out));
  }
  const auto& c = requests_.counted();
  const auto moved = [&](route_reason r) { return c.moved[static_cast<size_t>(r)]; };
  s.placed = moved(route_reason::placed);
  s.preempted = moved(route_reason::preempted);
  s.drained = moved(route_reason::drained);
  s.consolidated = moved(route_reason::consolidated);
  s.asked = moved(route_reason::asked);
  s.refused = c.refused;
  return s;
}

generation_list llm_router::list(const list_generations& asked, time_point now) const {
  generation_list out;
  const auto& all = requests_.requests();
  out.total = all.size();
  const auto limit = std::min(asked.limit, longest_list);
  for (auto r = all.upper_bound(request_id{asked.after}); r != all.end() && out.generations.size() < limit;
       ++r) {
    const auto& of = r->second.asked;
    generation_state s;
    s.request = r->first.value;
    s.adapter = of.adapter;
    s.waiting = of.at == no_engine;
    s.engine = s.waiting ? 0 : of.at.value;
    s.sequences = of.sequences;
    s.age = now - of.arrival;
    out.generations.push_back(std::move(s));
  }
  return out;
}

command_reply llm_router::on_command(const command& c, time_point now) {
  return run_command(llm_router_commands{}, c,
                     overloaded{[&](const get_state&) { return describe(); },
                                [&](const list_generations& l) { return list(l, now); },
                                [&](const migrate& m) {
                                  const auto problem =
                                      requests_.migrate(request_id{m.request}, engine_id{m.engine}, now);
                                  if (!problem.empty()) throw command_refused("migrate: " + problem);
                                  return acknowledged{};
                                },
                                [&](const drain_engine& d) {
                                  if (!requests_.close(engine_id{d.engine}, !d.open))
                                    throw command_refused("drain_engine.engine: the model has no engine " +
                                                          std::to_string(d.engine));
                                  return acknowledged{};
                                }});
}

void llm_router::report(std::vector<metric>& out) const {
  using enum metric::kind;
  const auto& c = requests_.counted();
  const auto add = [&](const char* name, double value, metric::kind k) {
    out.push_back({name, {{"model", options_.name}}, value, k});
  };
  add("troupe_llm_router_requests", static_cast<double>(requests_.requests().size()), gauge);
  add("troupe_llm_router_waiting", static_cast<double>(requests_.waiting()), gauge);
  add("troupe_llm_router_refused_total", static_cast<double>(c.refused), counter);
  for (size_t i = 0; i < route_reason_count; ++i)
    out.push_back(
        {"troupe_llm_router_moves_total",
         {{"model", options_.name}, {"reason", std::string(to_string(static_cast<route_reason>(i)))}},
         static_cast<double>(c.moved[i]),
         counter});
  for (const auto& [id, e] : requests_.engines())
    out.push_back({"troupe_llm_router_engine_sequences",
                   {{"model", options_.name}, {"engine", std::to_string(id.value)}},
                   static_cast<double>(e.sequences),
                   gauge});
}

}  // namespace troupe

#include "tools/sim/llm_clients.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "actors/frontend/frontend.hpp"
#include "tools/sim/faults.hpp"
#include "tools/sim/llm_reference.hpp"

namespace troupe::sim {

struct llm_clients::port_of_node final : completion_port {
  port_of_node(llm_clients& c, node_id n) : all(c), node(n) {}
  bool token(const generated_token& t) override { return all.token(node, t); }
  void ended(request_id id, const outcome& how) override { all.on_ended(node, id, how); }
  void adapter_changed(const troupe::adapter_changed&) override {}
  llm_clients& all;
  const node_id node;
};

llm_clients::llm_clients(const environment& s, uint64_t seed)
    : env_(s),
      fault_free_(faults_are_only(s.workload, {})),
      random_(seed, "texts"),
      statistics_(s.workload.llms.size() + (s.workload.llm_trace.empty() ? 0 : 1)) {
  for (uint32_t i = 0; i < s.cluster.nodes.size(); ++i) {
    ports_.push_back(std::make_unique<port_of_node>(*this, node_id{i}));
    if (s.cluster.nodes[i].has(node_role::gateway)) gateways_.push_back(node_id{i});
  }
  for (size_t i = 0; i < s.workload.llms.size(); ++i) {
    const auto& load = s.workload.llms[i];
    sources_.emplace_back();
    if (load.rate_rps > 0)
      sources_.back().emplace(arrival_spec{load.arrivals, load.rate_rps, load.gamma_cv}, time_point{},
                              random_stream(seed, "text arrivals", i));
  }
}

llm_clients::~llm_clients() = default;

completion_port& llm_clients::port(node_id gateway) { return *ports_[gateway.value]; }

void llm_clients::start() {
  start_ = env_.time.now();
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (!sources_[i]) continue;
    ++running_;
    schedule_next(i);
  }
  for (size_t i = 0; i < env_.workload.llm_trace.size(); ++i)
    env_.time.at(start_ + env_.workload.llm_trace[i].at, sim_event::client, [this, i] { offer_row(i); });
}

void llm_clients::schedule_next(size_t load) {
  const auto at = sources_[load]->next().time_since_epoch();
  if (at >= env_.workload.length) {
    --running_;
    return;
  }
  env_.time.at(start_ + at, sim_event::client, [this, load] {
    offer(load);
    schedule_next(load);
  });
}

generation llm_clients::some_request(const llm_load& load) {
  const auto between = [&](uint32_t min, uint32_t max) {
    return min + static_cast<uint32_t>(random_.below(max - min + 1));
  };
  generation g;
  g.model = load.model;
  g.prompt.resize(between(load.min_prompt, load.max_prompt));
  for (auto& t : g.prompt) t = static_cast<llm::token>(3 + random_.below(900));
  g.max_tokens = between(load.min_tokens, load.max_tokens);
  g.choices = random_.uniform() < load.several_choices ? between(2, 3) : 1;
  if (load.adapters > 0 && random_.below(4) > 0)
    g.adapter = fmt::format("adapter-{:04}", random_.below(load.adapters));
  g.sampling.temperature = random_.below(2) == 0 ? 0 : 1;
  g.sampling.seed = random_();
  g.sampling.frequency_penalty = g.sampling.seed % 4 == 0 ? 0.5F : 0;
  if (random_.uniform() < load.alike) begin_alike(g);
  g.tpot = load.tpot;
  if (load.max_priority > 0) g.priority = static_cast<int32_t>(random_.below(load.max_priority + 1));
  return g;
}

/// Two of three requests are of the same scope.
void llm_clients::begin_alike(generation& g) {
  const auto which = random_.below(3), end = random_.below(g.prompt.size() + 1);
  for (uint64_t i = 0; i < end; ++i) g.prompt[i] = static_cast<llm::token>(3 + 17 * which + i);
  if (random_.below(3) == 0) g.cache_scope = "/salt";
}

void llm_clients::offer(size_t load) {
  const auto& asked = env_.workload.llms[load];
  stream s;
  s.load = load;
  s.asked = some_request(asked);
  s.gateway = gateways_[random_.below(gateways_.size())];
  const bool hangs_up = random_.uniform() < asked.hang_up;
  const duration patience{static_cast<int64_t>(random_.uniform() * 1e9)};
  if (asked.content > 0 && random_.uniform() < asked.content)
    s.enough = 1 + static_cast<uint32_t>(random_.below(s.asked.max_tokens));
  enter(std::move(s), asked.ttft, hangs_up ? std::optional(patience) : std::nullopt);
}

void llm_clients::offer_row(size_t row) {
  const auto& asked = env_.workload.llm_trace[row];
  stream s;
  s.load = env_.workload.llms.size();
  if (env_.trace)
    s.traced.emplace(row, client_outcome::finished, drop_reason::none, std::vector<duration>{}, duration{});
  s.asked.prompt.resize(asked.prompt_tokens);
  for (auto& t : s.asked.prompt) t = static_cast<llm::token>(3 + random_.below(900));
  s.asked.max_tokens = asked.output_tokens;
  s.asked.adapter = asked.adapter;
  s.asked.priority = asked.priority;
  s.asked.sampling.temperature = 0;
  s.gateway = gateways_[row % gateways_.size()];
  enter(std::move(s), asked.slo.value_or(duration{}), {});
}

/// `ttft` zero: no target. `patience`: time until the client hangs up.
void llm_clients::enter(stream s, duration ttft, std::optional<duration> patience) {
  s.offered_at = env_.time.now();
  ++statistics_[s.load].offered;
  auto* gateway = env_.frontend_of(s.gateway);
  if (gateway == nullptr || env_.time.frozen(s.gateway)) return end(s, client_outcome::refused);
  const auto now = env_.clock_of(s.gateway);
  s.asked.id = gateway->next_request_id();
  s.asked.arrival = now;
  s.asked.deadline = now + env_.cluster.llms[s.asked.model.value].timeout;
  if (ttft > duration{}) s.asked.due = now + ttft;
  s.got.resize(s.asked.choices);
  s.ended.resize(s.asked.choices);
  const auto id = s.asked.id;
  const auto request = s.asked;
  if (patience)
    env_.time.at(env_.time.now() + *patience, sim_event::client, s.gateway,
                 [gateway, id] { gateway->to_llm_gateway(client_gone{id}); });
  open_.emplace(id, std::move(s));
  gateway->to_llm_gateway(generation_request{{request}});
}

bool llm_clients::token(node_id gateway, const generated_token& t) {
  const auto found = open_.find(t.id);
  if (found == open_.end() || found->second.gateway != gateway || t.choice >= found->second.got.size() ||
      found->second.ended[t.choice]) {
    env_.broken.add("stream",
                    fmt::format("a token for request {}, choice {}, which has ended", t.id.value, t.choice));
    return false;
  }
  auto& s = found->second;
  auto& b = statistics_[s.load];
  const auto now = env_.time.now();
  const bool first = std::ranges::all_of(s.got, [](const auto& g) { return g.empty(); });
  (first ? b.first_token : b.between_tokens).add(now - (first ? s.offered_at : s.last_token_at));
  if (first) s.first_token_at = now;
  s.last_token_at = now;
  if (s.traced) s.traced->tokens.push_back(now - s.offered_at);
  s.got[t.choice].push_back(t.which);
  const bool content = s.got[t.choice].size() >= s.enough;
  if (t.finish != finish_reason::none || content) s.ended[t.choice] = true;
  ++b.tokens;
  b.last_token = now - start_;
  return content;
}

void llm_clients::given(node_id worker, const generation& g) {
  const auto found = open_.find(g.id);
  if (found == open_.end()) return;
  auto& s = found->second;
  s.moved =
      s.moved || (!g.progress.empty() && std::ranges::count(s.workers, worker) == 0 && !s.workers.empty());
  s.workers.push_back(worker);
}

bool llm_clients::started(const stream& s) {
  return std::ranges::any_of(s.got, [](const auto& tokens) { return !tokens.empty(); });
}

void llm_clients::on_ended(node_id gateway, request_id id, const outcome& how) {
  const auto found = open_.find(id);
  if (found == open_.end() || found->second.gateway != gateway)
    return env_.broken.add("outcome", fmt::format("request {} got a second outcome", id.value));
  auto s = std::move(found->second);
  open_.erase(found);
  switch (how.kind) {
    case outcome_kind::finished: return end(s, client_outcome::finished);
    case outcome_kind::dropped:
      if (started(s) && how.reason != drop_reason::cancelled && how.reason != drop_reason::undeployed)
        env_.broken.add("started", fmt::format("request {} had tokens, and was dropped as {}", id.value,
                                               to_string(how.reason)));
      return end(s, client_outcome::dropped, how.reason);
    case outcome_kind::failed:
      if (fault_free_ && !s.traced)
        env_.broken.add("fault free",
                        fmt::format("request {} failed in a run without faults: {}", id.value, how.detail));
      return end(s, client_outcome::failed);
  }
}

void llm_clients::end(stream& s, client_outcome how, drop_reason why) {
  auto& b = statistics_[s.load];
  ++b.outcomes[static_cast<size_t>(how)];
  b.moved += s.moved;
  if (how == client_outcome::finished) {
    b.whole.add(env_.time.now() - s.offered_at);
    if (s.got.size() == 1 && s.got[0].size() > 1)
      b.tpot.add((s.last_token_at - s.first_token_at) / static_cast<int64_t>(s.got[0].size() - 1));
  }
  if (how != client_outcome::refused) compare(s, how == client_outcome::finished);
  if (!s.traced) return;
  s.traced->how = how;
  s.traced->why = why;
  s.traced->ended = env_.time.now() - s.offered_at;
  traced_.push_back(std::move(*s.traced));
}

/// Every choice has the tokens of an undisturbed run: all of them, those until the client ended it, or a
/// prefix.
void llm_clients::compare(const stream& s, bool whole) {
  const auto& m = env_.cluster.llms[s.asked.model.value];
  for (uint32_t i = 0; i < s.got.size(); ++i) {
    const auto& got = s.got[i];
    if (got.empty() && !whole) continue;
    auto wanted = undisturbed(m, s.asked, i);
    wanted.resize(std::min<size_t>(wanted.size(), s.enough));
    const bool right =
        whole ? got == wanted
              : got.size() <= wanted.size() && std::equal(got.begin(), got.end(), wanted.begin());
    if (right) continue;
    const auto at = std::ranges::mismatch(got, wanted).in1 - got.begin();
    env_.broken.add("sequence",
                    fmt::format("request {}, choice {}: {} tokens, {} in the run without faults, the first "
                                "{} are equal; it ran on {} engines",
                                s.asked.id.value, i, got.size(), wanted.size(), at, s.workers.size()));
  }
}

void llm_clients::gateway_died(node_id gateway) {
  for (auto it = open_.begin(); it != open_.end();) {
    if (it->second.gateway != gateway) {
      ++it;
      continue;
    }
    auto s = std::move(it->second);
    it = open_.erase(it);
    end(s, client_outcome::lost_with_gateway);
  }
}

}  // namespace troupe::sim

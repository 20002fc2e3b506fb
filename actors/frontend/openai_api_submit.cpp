// Submission of parsed completions: their checks, their generation requests, and their answer.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "actors/frontend/openai_api.hpp"
#include "policies/common/random.hpp"

namespace troupe {
namespace {

completion_answer::options options_of(const openai::base_request& asked, openai::completion_kind kind) {
  completion_answer::options o;
  o.kind = kind;
  o.choices = asked.n;
  o.stream = asked.stream;
  o.include_usage = asked.include_usage;
  o.logprobs = asked.logprobs;
  o.skip_special_tokens = asked.skip_special_tokens;
  o.include_stop = asked.include_stop;
  o.stop = asked.stop;
  return o;
}

}  // namespace

std::optional<openai::error> openai_api::problem_with(const openai::base_request& asked, const char* field,
                                                      const chosen& to,
                                                      const std::vector<prompt>& prompts) const {
  using openai::error;
  if (!to.target.up) return not_ready(to);
  if (asked.n > to.spec->max_choices)
    return error{400, fmt::format("n: must be at most {}", to.spec->max_choices), "n", {}};
  for (const auto& b : asked.sampling.biases)
    if (!to.target.knows(b.which))
      return error{400, fmt::format("logit_bias: the vocabulary has no token {}", b.which), "logit_bias", {}};
  const uint64_t room = to.target.max_model_len, wanted = asked.max_tokens.value_or(1);
  for (const auto& p : prompts) {
    if (p.tokens.empty()) return error{400, fmt::format("{}: has no tokens", field), field, {}};
    if (const auto bad = to.target.first_unknown_token(p.tokens))
      return error{400, fmt::format("{}: the vocabulary has no token {}", field, *bad), field, {}};
    if (p.tokens.size() + wanted > room)
      return error{
          400,
          fmt::format("this model's maximum context length is {} tokens; the prompt has {}, and {} are to be "
                      "generated; shorten the prompt or lower max_tokens",
                      room, p.tokens.size(), wanted),
          field, "context_length_exceeded"};
  }
  // The gateway has the same bound; here it also covers requests on their way to it.
  if (parts_.clients.waiting_now() + prompts.size() > parts_.cluster.limits.requests_in_flight)
    return completion_refusal(outcome::dropped(drop_reason::queue_full));
  return {};
}

/// The targets of the request; the tenant's targets where it has none.
generation_targets openai_api::targets_of(const openai::base_request& asked, uint32_t tenant) const {
  const auto usual = tenant == 0 ? generation_targets{} : parts_.cluster.tenants[tenant - 1].targets;
  return {asked.priority.value_or(usual.priority), asked.ttft.value_or(usual.ttft),
          asked.tpot.value_or(usual.tpot)};
}

/// Tenants share no cached blocks: times would tell a tenant what others ask. Names of tenants have no slash.
std::string openai_api::cache_scope_of(const openai::base_request& asked, uint32_t tenant) const {
  if (tenant == 0 && asked.cache_salt.empty()) return {};
  return (tenant == 0 ? std::string() : parts_.cluster.tenants[tenant - 1].name) + '/' + asked.cache_salt;
}

/// Without the prompt.
generation openai_api::generation_of(const openai::base_request& asked, const chosen& to, uint32_t tenant,
                                     time_point arrival, size_t prompt_tokens) {
  generation g;
  g.id = parts_.node.next_request_id();
  g.model = to.target.model;
  g.tenant = tenant;
  g.cache_scope = cache_scope_of(asked, tenant);
  g.arrival = arrival;
  g.deadline = arrival + to.spec->timeout;
  g.adapter = to.target.adapter;
  const auto targets = targets_of(asked, tenant);
  g.priority = targets.priority;
  if (targets.ttft > duration{}) g.due = arrival + targets.ttft;
  g.tpot = targets.tpot;
  g.max_tokens = asked.max_tokens.value_or(static_cast<uint32_t>(to.target.max_model_len - prompt_tokens));
  g.choices = asked.n;
  g.sampling = asked.sampling;
  // without a seed, equal requests get different answers
  auto mixed = g.id.value ^ static_cast<uint64_t>(arrival.time_since_epoch().count());
  g.sampling.seed = asked.seed.value_or(splitmix64(mixed));
  g.stop = asked.stop_tokens;
  if (!asked.ignore_eos)
    g.stop.insert(g.stop.end(), to.words->end_of_text.begin(), to.words->end_of_text.end());
  g.logprobs = asked.logprobs;
  g.top_logprobs = std::min(asked.top_logprobs, to.target.vocabulary);
  return g;
}

void openai_api::submit(const openai::base_request& asked, openai::completion_kind kind, const chosen& to,
                        std::vector<prompt> prompts, uint32_t tenant, time_point arrival, http_reply reply) {
  const char* field = kind == openai::completion_kind::chat ? "messages" : "prompt";
  if (const auto wrong = problem_with(asked, field, to, prompts)) return refuse(reply, *wrong);
  std::vector<generation> requests;
  for (const auto& p : prompts)
    requests.push_back(generation_of(asked, to, tenant, arrival, p.tokens.size()));
  auto o = options_of(asked, kind);
  o.id = std::to_string(requests.front().id.value);
  o.created = wall_time();
  o.model = asked.model.empty() ? to.spec->name : asked.model;
  auto answer = std::make_unique<completion_answer>(std::move(o), to.words, std::move(reply));
  for (size_t i = 0; i < prompts.size(); ++i) {
    answer->add_prompt(requests[i].id, prompts[i].tokens, prompts[i].echo);
    requests[i].prompt = std::move(prompts[i].tokens);
  }
  auto& node = parts_.node;
  const auto cancel = [&node, ids = answer->requests()] {
    for (const auto id : ids) node.to_llm_gateway(client_gone{id});
  };
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  answer->reply().on_cancel([gone, cancel] {
    *gone = true;
    cancel();
  });
  parts_.clients.expect(std::move(answer));
  node.to_llm_gateway(generation_request{std::move(requests)});
  if (*gone) cancel();  // the client disconnected before the gateway had the requests
}

}  // namespace troupe

#include "policies/llm/routed_engine.hpp"

#include <algorithm>

#include "policies/llm/step_forecast.hpp"

namespace troupe {
namespace {

uint64_t in_blocks(uint64_t tokens, const engine_status& s) {
  const uint64_t block = std::max(1u, s.block_tokens);
  return (tokens + block - 1) / block * block;
}

}  // namespace

void routed_engine::put(const routed_request& r, adapter_number its) {
  requests.insert(r.id);
  sequences += r.sequences;
  add_user(its);
}

void routed_engine::take(const routed_request& r, adapter_number its) {
  requests.erase(r.id);
  sequences -= r.sequences;
  remove_user(its);
}

void routed_engine::expect(const routed_request& r, adapter_number its) {
  expected.insert(r.id);
  sequences += r.sequences;
  expected_tokens += r.tokens;
  add_user(its);
}

void routed_engine::expect_no_more(const routed_request& r, adapter_number its) {
  expected.erase(r.id);
  sequences -= r.sequences;
  expected_tokens -= r.tokens;
  remove_user(its);
}

void routed_engine::add_user(adapter_number its) {
  if (its == no_adapter) return;
  const auto known = std::ranges::find(running, its, &std::pair<adapter_number, uint32_t>::first);
  if (known == running.end())
    running.emplace_back(its, 1);
  else
    ++known->second;
  use_slot(its);
}

void routed_engine::remove_user(adapter_number its) {
  if (its == no_adapter) return;
  const auto known = std::ranges::find(running, its, &std::pair<adapter_number, uint32_t>::first);
  if (--known->second > 0) return;
  *known = running.back();
  running.pop_back();
  use_slot(its);
}

/// Mirrors the engine: the least recently used adapter gives up its slot (policies/llm/adapter_slots.hpp).
void routed_engine::use_slot(adapter_number a) {
  std::erase(resident, a);
  resident.push_back(a);
  const auto runs = [&](adapter_number r) {
    return std::ranges::count(running, r, &std::pair<adapter_number, uint32_t>::first) > 0;
  };
  for (auto r = resident.begin(); resident.size() > said.adapter_slots && r != resident.end();)
    r = runs(*r) ? std::next(r) : resident.erase(r);
}

void routed_engine::add_fresh(arrival a) {
  fresh.push_back(a);
  fresh_tokens += a.tokens;
}

void routed_engine::forget_fresh(time_point then) {
  for (; !fresh.empty() && fresh.front().at <= then; fresh.pop_front()) fresh_tokens -= fresh.front().tokens;
}

bool routed_engine::may_have(const routed_request& r, adapter_number its) const {
  return open() && r.tokens <= uint64_t{r.sequences} * said.kv_tokens && has(its);
}

bool routed_engine::has_room(const load& with, bool only_prefills) const {
  if (sequences == 0) return true;
  const auto then = sequences + with.sequences;
  if (then > said.max_sequences) return false;
  if (!only_prefills && then > llm::sequences_within(with.tpot, 0, said.steps)) return false;
  return free_tokens() >= in_blocks(with.tokens, said) + uint64_t{then} * said.block_tokens;
}

uint64_t routed_engine::free_tokens() const {
  const double free = (1 - static_cast<double>(said.kv_used)) * said.kv_tokens;
  const auto tokens = static_cast<uint64_t>(std::max(0.0, free) + 0.5);
  return tokens - std::min(tokens, fresh_tokens + expected_tokens);
}

uint64_t routed_engine::fresh_uncomputed() const {
  uint64_t sum = 0;
  for (auto a = fresh.rbegin(); a != fresh.rend() && a->at > said_at; ++a) sum += a->uncomputed;
  return sum;
}

bool routed_engine::in_time(const routed_request& r, time_point now, bool only_prefills) const {
  if (!waits_for_first_token(r)) return true;
  if (sequences == 0) return r.due >= now;
  const auto decodes = only_prefills ? 0 : sequences;
  const auto takes = [&](uint64_t tokens) {
    return llm::prefill_time(tokens, UINT32_MAX, decodes, said.steps);
  };
  return std::max(now, said_at + takes(said.uncomputed_tokens)) + takes(fresh_uncomputed() + r.tokens) <=
         r.due;
}

}  // namespace troupe

#include "tools/lab/step_probe.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "gpu/common/request_refused.hpp"
#include "policies/llm/sequence_batch.hpp"

namespace troupe {
namespace {

using llm::engine_event;

/// 1, 2, 4, ... and the last.
std::vector<uint32_t> doubling(uint32_t last) {
  std::vector<uint32_t> out;
  for (uint32_t n = 1; n < last; n *= 2) out.push_back(n);
  out.push_back(last);
  return out;
}

probed_step decodes(uint32_t batch, uint32_t context, uint32_t adapters = 0) {
  return {std::vector<probed_step::sequence>(batch, {context - 1, context}), adapters};
}

uint64_t blocks_of(const probed_step& s, uint32_t block_tokens) {
  uint64_t sum = 0;
  for (const auto& t : s.sequences) sum += (t.end + block_tokens - 1) / block_tokens;
  return sum;
}

}  // namespace

std::vector<probed_step> steps_to_probe(const probe_limits& l) {
  std::vector<probed_step> out;
  const auto shortest = std::min(16u, l.max_context);
  std::vector<uint32_t> contexts{shortest, l.max_context / 8, l.max_context / 2, l.max_context};
  std::erase_if(contexts, [&](uint32_t c) { return c < shortest; });
  contexts.erase(std::unique(contexts.begin(), contexts.end()), contexts.end());
  const auto batches = doubling(l.max_batch);
  for (const auto context : contexts)
    for (const auto batch : batches) out.push_back(decodes(batch, context));
  for (const auto batch : batches) {  // one long sequence among short ones
    auto mixed = decodes(batch, shortest);
    mixed.sequences.back() = {l.max_context - 1, l.max_context};
    if (batch > 1) out.push_back(std::move(mixed));
  }
  const auto chunk = std::min(l.prefill_chunk, l.max_context);
  for (const auto tokens : {chunk / 8, chunk / 4, chunk / 2, chunk})
    for (const auto first : {uint32_t{0}, (l.max_context - chunk) / 2, l.max_context - chunk}) {
      if (tokens < 2) continue;
      out.push_back({{{first, first + tokens}}, 0});
      for (const auto batch : {l.max_batch / 4, l.max_batch}) {
        auto both = decodes(std::max(1u, batch), l.max_context / 4 + 1);
        both.sequences.insert(both.sequences.begin(), {first, first + tokens});
        out.push_back(std::move(both));
      }
    }
  if (l.adapters > 0) {
    for (const auto batch : batches)
      for (const auto adapters : {1u, std::max(1u, batch / 4), batch})
        out.push_back(decodes(batch, l.max_context / 4 + 1, std::min(adapters, l.adapters)));
    for (const auto tokens : {chunk / 4, chunk})
      if (tokens > 1) out.push_back({{{0, tokens}}, 1});
  }
  std::vector<probed_step> once;
  for (auto& s : out)
    if (blocks_of(s, l.block_tokens) * l.block_tokens <= l.kv_tokens && std::ranges::count(once, s) == 0)
      once.push_back(std::move(s));
  return once;
}

llm::llm_step step_of(const probed_step& p, uint32_t block_tokens) {
  llm::llm_step s;
  s.block_start = {0};
  s.segment_end = {0};
  for (size_t i = 0; i < p.sequences.size(); ++i) {
    const auto [first, end] = p.sequences[i];
    for (auto at = first; at < end; ++at) {
      s.tokens.push_back(static_cast<llm::token>((i + at) % 7));  // valid in every vocabulary
      s.positions.push_back(at);
      s.row_sequence.push_back(static_cast<uint32_t>(i));
    }
    s.sequences.push_back(llm::sequence_id{i + 1});
    for (uint32_t at = 0; at < end; at += block_tokens)
      s.blocks.push_back(static_cast<uint32_t>(s.blocks.size()));
    s.block_start.push_back(static_cast<uint32_t>(s.blocks.size()));
    s.sampled.push_back(s.rows() - 1);
    const auto adapter =
        p.adapters == 0 ? llm::base_model
                        : llm::adapter_id{static_cast<uint32_t>(1 + i * p.adapters / p.sequences.size())};
    if (s.segment_adapters.empty() || s.segment_adapters.back() != adapter) {
      s.segment_adapters.push_back(adapter);
      s.segment_end.push_back(0);
    }
    s.segment_end.back() = s.rows();
  }
  return s;
}

engine_event step_probe::next(engine_event::kind awaited) {
  engine_event e;
  while (true) {
    while (device_.poll(clock_.now(), e)) {
      if (!e.problem.empty()) throw request_refused(e.problem);
      if (e.what == awaited) return e;
    }
    wait_(device_.poll_at());
  }
}

llm::engine_facts step_probe::load() { return facts_ = next(engine_event::kind::loaded).facts; }

void step_probe::fill_cache() {
  const auto memory = device_.kv_memory().bytes;
  if (memory.empty()) return;
  std::memset(memory.data(), 0x3c, memory.size());  // below two in every type
  std::vector<uint32_t> all(facts_.blocks);
  std::iota(all.begin(), all.end(), 0);
  device_.on_kv_written(all);
}

duration step_probe::load_adapters(uint32_t count, const std::string& folder) {
  std::vector<duration> times;
  for (uint32_t i = 1; i <= count; ++i) {
    device_.read_adapter(llm::adapter_id{i}, folder);
    next(engine_event::kind::adapter_read);
    device_.load_adapter(llm::adapter_id{i}, folder);
    times.push_back(next(engine_event::kind::adapter_ready).took);
  }
  std::ranges::sort(times);
  return times.empty() ? duration{} : times[times.size() / 2];
}

duration step_probe::run(const llm::llm_step& step) {
  static const auto greedy = llm::greedy();
  std::vector<llm::token_sampling> samplings;
  for (const auto row : step.sampled)
    samplings.push_back({&greedy, 0, {}, step.positions[row] + uint64_t{1}, 0});
  device_.start(step, samplings);
  return next(engine_event::kind::step_done).took;
}

std::vector<step_sample> step_probe::measure(const std::vector<probed_step>& steps, duration budget) {
  constexpr int fewest_rounds = 3;
  std::vector<llm::llm_step> made;
  for (const auto& s : steps) made.push_back(step_of(s, facts_.block_tokens));
  for (const auto& s : made) run(s);
  std::vector<std::vector<duration>> times(made.size());
  const auto end = clock_.now() + budget;
  for (int round = 0; round < fewest_rounds || clock_.now() < end; ++round)
    for (size_t i = 0; i < made.size(); ++i) times[i].push_back(run(made[i]));
  std::vector<step_sample> out;
  for (size_t i = 0; i < made.size(); ++i) {
    std::ranges::sort(times[i]);
    out.push_back({llm::shape_of(made[i]), times[i][times[i].size() / 2], i % 4 == 2});
  }
  return out;
}

}  // namespace troupe

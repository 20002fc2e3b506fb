#include "tools/sim/llm_reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/llm/sequence_batch.hpp"

namespace troupe::sim {
namespace {

constexpr uint32_t words = 1000;
constexpr llm::adapter_id the_adapter{1};

struct stopped_clock final : clock {
  time_point now() const override { return time_point{}; }
};

}  // namespace

llm::emulated_engine_options engine_options_of(const llm_spec& m, uint64_t seed) {
  llm::emulated_engine_options o;
  o.profile = m.profile;
  o.vocabulary = words;
  o.max_positions = m.max_positions;
  o.end_of_text = {2};
  o.kv_bytes = m.kv_bytes;
  o.block_tokens = m.block_tokens;
  o.adapter_slots = m.adapter_slots;
  o.jitter = m.jitter;
  o.seed = seed;
  return o;
}

std::string adapter_folder(const std::string& name) { return "/adapters/" + name; }

std::vector<adapter_entry> adapters_of(const llm_spec& m) {
  std::vector<adapter_entry> out;
  for (uint32_t i = 0; i < m.emulated_adapters; ++i) {
    auto name = fmt::format("adapter-{:04}", i);
    out.push_back({name, adapter_folder(name)});
  }
  return out;
}

std::vector<llm::token> undisturbed(const llm_spec& m, const generation& asked, uint32_t choice) {
  const stopped_clock time;
  auto o = engine_options_of(m, 0);
  o.adapter_slots = 1;
  // No more blocks than it needs: a cache of tens of gigabytes has thousands, which take longer than the run.
  const auto blocks = (asked.prompt.size() + asked.max_tokens) / o.block_tokens + 1;
  o.kv_bytes = std::min(o.kv_bytes, blocks * o.block_tokens * o.profile.kv_token_bytes);
  llm::emulated_engine_device device(time, o);
  llm::engine_event e;
  device.poll(never, e);
  llm::scheduler_limits limits;
  limits.blocks = e.facts.blocks;
  limits.block_tokens = e.facts.block_tokens;
  llm::sequence_batch batch(limits);
  llm::sequence_request sequence;
  sequence.prompt = asked.prompt;
  sequence.max_tokens = asked.max_tokens;
  sequence.sampling = asked.sampling;
  sequence.sampling.seed += choice;
  sequence.stop = asked.stop;
  if (!asked.adapter.empty()) {
    sequence.adapter = the_adapter;
    device.load_adapter(the_adapter, adapter_folder(asked.adapter));
    device.poll(never, e);
    batch.scheduler().adapter_loaded(the_adapter);
  }
  batch.add(std::move(sequence));
  std::vector<llm::token> out;
  while (batch.plan().rows() > 0) {
    device.start(batch.scheduler().step(), batch.samplings());
    device.poll(never, e);
    for (const auto& got : batch.done(e.chosen)) out.push_back(got.chosen->which);
  }
  return out;
}

}  // namespace troupe::sim

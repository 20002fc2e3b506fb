#include "gpu/llm/emulated_engine_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "gpu/common/fnv.hpp"

namespace troupe::llm {
namespace {

constexpr uint64_t base_print = 1;

/// The blocks of a row's sequence.
std::span<const uint32_t> blocks_of(const llm_step& step, uint32_t row) {
  const auto first = step.block_start[step.row_sequence[row]],
             end = step.block_start[step.row_sequence[row] + 1];
  return std::span(step.blocks).subspan(first, end - first);
}

}  // namespace

emulated_engine_device::emulated_engine_device(const clock& c, emulated_engine_options options)
    : clock_(c), options_(std::move(options)), random_(static_cast<uint32_t>(options_.seed)) {
  random_.discard(1);  // the first value is nearly the seed itself
  const uint64_t block_bytes = options_.profile.kv_token_bytes * options_.block_tokens;
  const uint64_t blocks = block_bytes == 0 ? 0 : options_.kv_bytes / block_bytes;
  engine_event e;
  e.problem = options_.problem;
  if (e.problem.empty() && blocks == 0)
    e.problem =
        fmt::format("a KV cache of {} bytes has no room for one block of {} tokens, {} bytes: increase it",
                    options_.kv_bytes, options_.block_tokens, block_bytes);
  if (!e.problem.empty()) {
    e.what = engine_event::kind::unusable;
    report(long_ago, std::move(e));
    return;
  }
  assert(options_.vocabulary > options_.end_of_text.size());
  facts_.vocabulary = options_.vocabulary;
  facts_.max_positions = options_.max_positions;
  facts_.blocks = static_cast<uint32_t>(std::min<uint64_t>(blocks, std::numeric_limits<uint32_t>::max()));
  facts_.block_tokens = options_.block_tokens;
  facts_.block_bytes = options_.block_tokens * sizeof(uint64_t);
  facts_.layers = facts_.layers_ready = options_.layers;
  if (options_.images) {
    images_ = options_.images();
    facts_.layers = images_->layers();
    facts_.layers_ready = 0;
    if (options_.ready) listener_ = images_->listen(options_.ready);
  }
  facts_.end_of_text = options_.end_of_text;
  facts_.steps_ahead = options_.steps_ahead;
  cache_ = {facts_.blocks, facts_.block_tokens, options_.kv_memory};
  if (images_) return;
  e.what = engine_event::kind::loaded;
  e.facts = facts_;
  report(long_ago, std::move(e));
}

emulated_engine_device::~emulated_engine_device() {
  if (images_) images_->forget(listener_);
}

/// Takes the layers that have become ready. False: there are none.
bool emulated_engine_device::adopt_layers(engine_event& out) {
  if (!images_ || unusable_ || images_->ready() == facts_.layers_ready) return false;
  out = {};
  while (facts_.layers_ready < images_->ready()) {
    const auto layer = facts_.layers_ready++;
    if (options_.image_problem) out.problem = options_.image_problem(layer, images_->image(layer));
    unusable_ = !out.problem.empty();
    if (unusable_) break;
    facts_.weight_bytes += images_->image(layer).size();
  }
  out.facts = facts_;
  out.what = unusable_                              ? engine_event::kind::unusable
             : facts_.layers_ready == facts_.layers ? engine_event::kind::loaded
                                                    : engine_event::kind::layers_ready;
  return true;
}

void emulated_engine_device::start(const llm_step& step, std::span<const token_sampling> samplings,
                                   const layer_range& layers) {
  const auto end = std::min(layers.end, facts_.layers);
  assert(step.rows() > 0 && layers.first < end);
  assert(under_way_.size() <= facts_.steps_ahead);
  if (failed_) return;
  running r;
  if (end > facts_.layers_ready) {
    auto problem = fmt::format("a step needs {} layers, of which {} are loaded", end, facts_.layers_ready);
    if (options_.misused) options_.misused(problem);
    return fail(clock_.now(), std::move(problem));
  }
  const auto begins = under_way_.empty() ? clock_.now() : std::max(clock_.now(), under_way_.back().ends);
  for (const auto a : step.segment_adapters) {
    if (a == base_model) continue;
    const auto print = print_of(a);
    if (print == 0)
      return fail(begins, fmt::format("a step needs adapter {}, which is not on the device", a.value));
    r.adapters.emplace_back(a, print);
  }
  engine_event e;
  e.what = engine_event::kind::step_done;
  const auto share = static_cast<double>(end - layers.first) / facts_.layers;
  const auto drawn = static_cast<double>(random_() - random_.min()) / (random_.max() - random_.min());
  e.took = std::chrono::duration_cast<duration>(options_.profile.step(shape_of(step)) * share *
                                                (1 + options_.jitter * drawn));
  tokens_ = step.tokens;
  for (auto& t : tokens_)
    if (is_chosen_before(t)) t = chosen_.at(entry_before(t));
  if (layers.first == 0) remember(step, r);
  chosen_.clear();
  if (end == facts_.layers) {
    assert(samplings.size() == step.sampled.size());
    for (size_t i = 0; i < step.sampled.size(); ++i) {
      e.chosen.push_back(choose(step, step.sampled[i], samplings[i]));
      chosen_.push_back(e.chosen.back().which);
    }
  }
  r.ends = begins + e.took;
  report(r.ends, std::move(e));
  under_way_.push_back(std::move(r));
}

/// Reports a failure after the events of the steps before it.
void emulated_engine_device::fail(time_point at, std::string problem) {
  failed_ = true;
  engine_event e;
  e.what = engine_event::kind::step_failed;
  e.problem = std::move(problem);
  report(at, std::move(e));
}

/// Writes the words of all rows before it reads any, as layers do.
void emulated_engine_device::remember(const llm_step& step, running& into) {
  for (size_t i = 0; i < step.segment_adapters.size(); ++i) {
    const auto adapter = print_of(step.segment_adapters[i]);
    for (auto row = step.segment_end[i]; row < step.segment_end[i + 1]; ++row) {
      const auto position = step.positions[row];
      const auto place = cache_.place(blocks_of(step, row), position);
      const auto which = static_cast<uint64_t>(tokens_[row]);
      const auto word = mixed(adapter, mixed(position, mixed(which, fnv_start)));
      into.words.emplace_back(place, word);
      cache_.write(place, word);
    }
  }
}

chosen_token emulated_engine_device::choose(const llm_step& step, uint32_t row,
                                            const token_sampling& sampling) const {
  const auto segment = std::ranges::upper_bound(step.segment_end, row) - step.segment_end.begin() - 1;
  auto hash = cache_.hash(blocks_of(step, row), step.positions[row] + uint64_t{1},
                          mixed(print_of(step.segment_adapters[static_cast<size_t>(segment)]), fnv_start));
  if (sampling.params->temperature > 0) hash = mixed(sampling.seed, hash);
  if (sampling.params->has_penalties()) {
    uint64_t seen = 0;  // a sum: independent of the order
    const auto count = [&](token which, uint64_t prompt, uint64_t output) {
      seen += mixed(static_cast<uint64_t>(which), fnv_start) * (prompt + 3 * output);
    };
    for (const auto& c : sampling.counts) count(c.which, c.prompt, c.output);
    if (is_chosen_before(step.tokens[row])) count(tokens_[row], 0, 1);
    hash = mixed(seen, hash);
  }
  chosen_token out;
  out.which = as_token(hash);
  out.logprob = -1;
  out.valid = true;
  for (uint32_t i = 0; i < sampling.top; ++i)
    out.top.push_back({as_token(hash + i), -1 - static_cast<float>(i)});
  return out;
}

token emulated_engine_device::as_token(uint64_t hash) const {
  auto which = static_cast<token>(hash % options_.vocabulary);
  while (std::ranges::count(options_.end_of_text, which) > 0)
    which = static_cast<token>((static_cast<uint32_t>(which) + 1) % options_.vocabulary);
  return which;
}

bool emulated_engine_device::poll(time_point now, engine_event& out) {
  if (adopt_layers(out)) return true;
  if (events_.empty() || events_.begin()->first > now) return false;
  out = std::move(events_.extract(events_.begin()).mapped());
  if (out.what == engine_event::kind::adapter_ready) slots_.at(out.adapter).ready = true;
  if (out.what == engine_event::kind::step_done) end_step(out);
  if (out.what == engine_event::kind::step_failed) {
    under_way_.clear();
    failed_ = false;
    std::erase_if(events_, [](const auto& e) {
      return e.second.what == engine_event::kind::step_done ||
             e.second.what == engine_event::kind::step_failed;
    });
  }
  return true;
}

void emulated_engine_device::end_step(engine_event& e) {
  const auto ran = std::move(under_way_.front());
  under_way_.pop_front();
  for (const auto& [place, word] : ran.words) cache_.write(place, word);
  for (const auto& [adapter, print] : ran.adapters)
    if (print_of(adapter) != print) {
      e.what = engine_event::kind::step_failed;
      e.problem = fmt::format("adapter {} was unloaded during a step", adapter.value);
      e.chosen.clear();
    }
}

time_point emulated_engine_device::poll_at() const {
  if (images_ && !unusable_ && images_->ready() > facts_.layers_ready) return long_ago;
  return events_.empty() ? never : events_.begin()->first;
}

std::string emulated_engine_device::problem_of(const std::string& folder) const {
  return options_.adapter_problem ? options_.adapter_problem(folder) : "";
}

void emulated_engine_device::read_adapter(adapter_id id, const std::string& folder) {
  engine_event e;
  e.what = engine_event::kind::adapter_read;
  e.adapter = id;
  e.problem = problem_of(folder);
  report(clock_.now(), std::move(e));
}

void emulated_engine_device::load_adapter(adapter_id id, const std::string& folder) {
  assert(id != base_model && !slots_.contains(id) && slots_.size() < options_.adapter_slots);
  engine_event e;
  e.adapter = id;
  e.problem = problem_of(folder);
  if (!e.problem.empty()) {
    e.what = engine_event::kind::adapter_failed;
    return report(clock_.now(), std::move(e));
  }
  const auto name = folder.substr(folder.find_last_of('/') + 1);  // parents differ between nodes
  slots_[id].print = fnv1a(std::as_bytes(std::span(name)));
  e.what = engine_event::kind::adapter_ready;
  e.took = options_.profile.adapter_load;
  e.from_disk = true;
  const auto at = clock_.now() + e.took;
  report(at, std::move(e));
}

void emulated_engine_device::unload_adapter(adapter_id id) {
  slots_.erase(id);
  std::erase_if(events_, [&](const auto& e) {
    return e.second.adapter == id && (e.second.what == engine_event::kind::adapter_ready ||
                                      e.second.what == engine_event::kind::adapter_failed);
  });
}

/// 0: the adapter is not on the device.
uint64_t emulated_engine_device::print_of(adapter_id id) const {
  if (id == base_model) return base_print;
  const auto known = slots_.find(id);
  return known == slots_.end() || !known->second.ready ? 0 : known->second.print;
}

void emulated_engine_device::stop() {
  events_.clear();
  under_way_.clear();
}

}  // namespace troupe::llm

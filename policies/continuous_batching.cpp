#include "policies/continuous_batching.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace troupe::llm {

struct continuous_batching::sequence {
  sequence_id id;
  uint64_t arrival;
  std::vector<token> text;  // the prompt, then what was generated
  size_t most;              // its length at the end
  adapter_id adapter;
  std::vector<uint32_t> blocks;
  size_t computed = 0;     // positions whose keys and values are in the blocks
  uint32_t in_step = 0;    // rows of the step under way
  bool cancelled = false;  // while a step is under way

  bool decodes() const { return computed + 1 == text.size() && computed > 0; }
};

continuous_batching::continuous_batching(batching_limits limits) : limits_(limits), blocks_(limits.blocks) {
  assert(limits.max_sequences > 0 && limits.prefill_chunk > 0 && limits.block_tokens > 0);
}
continuous_batching::~continuous_batching() = default;

size_t continuous_batching::blocks_for(size_t positions) const {
  return (positions + limits_.block_tokens - 1) / limits_.block_tokens;
}

continuous_batching::refusal continuous_batching::add(new_sequence s) {
  if (s.prompt.empty() || s.max_tokens == 0) return refusal::empty;
  // what is chosen last is never computed
  const size_t most = s.prompt.size() + s.max_tokens;
  if (blocks_for(most - 1) > blocks_.count()) return refusal::too_long;
  if (waiting_.size() >= limits_.max_waiting) return refusal::queue_full;
  auto made =
      std::make_unique<sequence>(sequence{s.id, arrivals_++, std::move(s.prompt), most, s.adapter, {}});
  waiting_.push_back(made.get());
  [[maybe_unused]] const bool fresh = known_.emplace(s.id, std::move(made)).second;
  assert(fresh);
  return refusal::none;
}

void continuous_batching::cancel(sequence_id id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  auto& s = *found->second;
  if (s.in_step > 0)
    s.cancelled = true;  // the device writes into its blocks
  else
    forget(id);
}

void continuous_batching::forget(sequence_id id) {
  const auto found = known_.find(id);
  auto* s = found->second.get();
  release(*s);
  std::erase(running_, s);
  std::erase(waiting_, s);
  known_.erase(found);
}

namespace {

/// Without the base model.
template <class Sequences>
std::vector<adapter_id> adapters_of(const Sequences& texts) {
  std::vector<adapter_id> out;
  for (const auto* s : texts)
    if (s->adapter != base_model) out.push_back(s->adapter);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

std::vector<adapter_id> continuous_batching::running_adapters() const { return adapters_of(running_); }
std::vector<adapter_id> continuous_batching::waiting_adapters() const { return adapters_of(waiting_); }

std::vector<adapter_id> continuous_batching::wanted_adapters(size_t limit) const {
  std::vector<adapter_id> out;
  size_t end = 0;  // of the last that is not there
  for (const auto* s : waiting_) {
    if (limit == 0) break;
    if (s->adapter == base_model || std::find(out.begin(), out.end(), s->adapter) != out.end()) continue;
    out.push_back(s->adapter);
    if (is_loaded(s->adapter)) continue;
    end = out.size();
    --limit;
  }
  out.resize(end);
  return out;
}

uint32_t continuous_batching::users(adapter_id a) const {
  return static_cast<uint32_t>(
      std::count_if(running_.begin(), running_.end(), [&](const auto* s) { return s->adapter == a; }));
}

const std::vector<token>* continuous_batching::text(sequence_id id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? nullptr : &found->second->text;
}

void continuous_batching::release(sequence& s) {
  for (const auto b : s.blocks) blocks_.give_back(b);
  s.blocks.clear();
  s.computed = 0;
}

void continuous_batching::evict(sequence& s) {
  ++evictions_;
  release(s);
  std::erase(running_, &s);
  const auto later =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto* w) { return w->arrival > s.arrival; });
  waiting_.insert(later, &s);
}

/// Blocks for its first `positions`, at the expense of newer ones. False: there was none but itself, and it
/// waits again.
bool continuous_batching::reserve(sequence& s, size_t positions) {
  const auto needs = blocks_for(positions);
  while (blocks_.free() + s.blocks.size() < needs) {
    auto& newest = *running_.back();
    evicted_.push_back(newest.id);
    evict(newest);
    if (&newest == &s) return false;
  }
  while (s.blocks.size() < needs) s.blocks.push_back(blocks_.take());
  return true;
}

continuous_batching::sequence* continuous_batching::prefilling() const {
  const auto found =
      std::find_if(running_.begin(), running_.end(), [](const auto* s) { return !s->decodes(); });
  return found == running_.end() ? nullptr : *found;
}

/// The first that waits, if its adapter is there and there is room for its text so far, and for those that
/// run to grow: or it would soon be evicted again.
void continuous_batching::admit() {
  if (running_.size() >= limits_.max_sequences) return;
  const auto next =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto* s) { return is_loaded(s->adapter); });
  if (next == waiting_.end()) return;
  auto* s = *next;
  if (!limits_.mix_adapters && !running_.empty() && running_.front()->adapter != s->adapter) return;
  if (blocks_.free() < blocks_for(s->text.size()) + running_.size()) return;
  waiting_.erase(next);
  const auto later =
      std::find_if(running_.begin(), running_.end(), [&](const auto* r) { return r->arrival > s->arrival; });
  running_.insert(later, s);
  while (s->blocks.size() < blocks_for(s->text.size())) s->blocks.push_back(blocks_.take());
}

const llm_step& continuous_batching::plan() {
  assert(!under_way_);
  step_.clear();
  in_step_.clear();
  step_.block_start.push_back(0);
  step_.segment_end.push_back(0);
  // oldest first, so that they keep what the newest give up
  for (size_t i = 0; i < running_.size();) {
    auto& s = *running_[i];
    if (!s.decodes() || reserve(s, s.text.size())) ++i;
  }
  if (prefilling() == nullptr) admit();

  adapter_id last = base_model;
  if (auto* p = prefilling()) {
    append(*p, static_cast<uint32_t>(std::min<size_t>(limits_.prefill_chunk, p->text.size() - p->computed)));
    close_segment(last = p->adapter);
  }
  decodes_.clear();
  for (auto* s : running_)
    if (s->decodes()) decodes_.push_back(s);
  // those with the prefill's adapter go on with its segment
  std::stable_sort(decodes_.begin(), decodes_.end(), [&](const auto* a, const auto* b) {
    return std::pair{a->adapter != last, a->adapter.value} < std::pair{b->adapter != last, b->adapter.value};
  });
  for (auto* s : decodes_) {
    append(*s, 1);
    close_segment(s->adapter);
  }
  under_way_ = step_.rows() > 0;
  return step_;
}

void continuous_batching::append(sequence& s, uint32_t rows) {
  const auto index = static_cast<uint32_t>(step_.sequences.size());
  step_.sequences.push_back(s.id);
  in_step_.push_back(&s);
  step_.blocks.insert(step_.blocks.end(), s.blocks.begin(), s.blocks.end());
  step_.block_start.push_back(static_cast<uint32_t>(step_.blocks.size()));
  for (size_t p = s.computed; p < s.computed + rows; ++p) {
    step_.tokens.push_back(s.text[p]);
    step_.positions.push_back(static_cast<uint32_t>(p));
    step_.row_sequence.push_back(index);
  }
  if (s.computed + rows == s.text.size()) step_.sampled.push_back(step_.rows() - 1);
  s.in_step = rows;
}

/// The rows that were appended last have this adapter.
void continuous_batching::close_segment(adapter_id a) {
  if (step_.segment_adapters.empty() || step_.segment_adapters.back() != a) {
    step_.segment_adapters.push_back(a);
    step_.segment_end.push_back(0);
  }
  step_.segment_end.back() = step_.rows();
}

void continuous_batching::done(std::span<const sampled_token> chosen) {
  assert(under_way_);
  under_way_ = false;
  for (auto*& s : in_step_) {
    s->computed += std::exchange(s->in_step, 0);
    if (!s->cancelled) continue;
    forget(s->id);
    s = nullptr;
  }
  auto next = chosen.begin();  // mostly they come in the order of the rows
  for (const auto row : step_.sampled) {
    auto* s = in_step_[step_.row_sequence[row]];
    if (s == nullptr) continue;
    auto its = next;
    if (its == chosen.end() || its->sequence != s->id)
      its = std::find_if(chosen.begin(), chosen.end(), [&](const auto& c) { return c.sequence == s->id; });
    const bool ends = its == chosen.end() || its->last || s->text.size() + 1 == s->most;
    if (its != chosen.end()) {
      s->text.push_back(its->chosen);
      next = its + 1;
    }
    if (ends) forget(s->id);
  }
}

void continuous_batching::fail() {
  assert(under_way_);
  under_way_ = false;
  for (auto* s : in_step_) {
    s->in_step = 0;
    if (s->cancelled) forget(s->id);
  }
  while (!running_.empty()) evict(*running_.back());
}

}  // namespace troupe::llm

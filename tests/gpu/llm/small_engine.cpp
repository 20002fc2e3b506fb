#include "tests/gpu/llm/small_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace troupe::llm {

void bell::ring() {
  {
    const std::scoped_lock lock(mutex_);
    rung_ = true;
  }
  changed_.notify_one();
}

void bell::wait() {
  std::unique_lock lock(mutex_);
  REQUIRE(changed_.wait_for(lock, 60s, [&] { return rung_; }));
  rung_ = false;
}

engine_event waited_device::next_of_all() {
  engine_event e;
  while (!device_.poll(clock_.now(), e)) bell_.wait();
  return e;
}

engine_event waited_device::next() {
  auto e = next_of_all();
  while (e.what == engine_event::kind::layers_ready) e = next_of_all();
  return e;
}

small_engine::small_engine(computing_options options, batching_limits limits)
    : options_(options), device_(std::move(options)) {
  const auto e = device_.next();
  REQUIRE(e.problem == "");
  REQUIRE(e.what == engine_event::kind::loaded);
  facts_ = e.facts;
  limits.blocks = facts_.blocks;
  limits.block_tokens = facts_.block_tokens;
  batching_ = std::make_unique<continuous_batching>(limits);
}

size_t small_engine::add(asked_text text) {
  auto adapter = base_model;
  if (!text.adapter.empty()) {
    const auto next = adapter_id{static_cast<uint32_t>(ids_.size()) + 1};
    adapter = ids_.try_emplace(text.adapter, next).first->second;
  }
  const auto id = sequence_id{texts_.size() + 1};
  REQUIRE(batching_->add({id, text.prompt, text.max_tokens, adapter}) == continuous_batching::refusal::none);
  auto& t = texts_.emplace_back();
  for (const auto p : text.prompt) ++t.frequency[p].prompt;
  t.asked = std::move(text);
  return texts_.size() - 1;
}

std::vector<token> small_engine::tokens(size_t text) const {
  std::vector<token> out;
  for (const auto& c : texts_[text].chosen) out.push_back(c.which);
  return out;
}

const std::string& small_engine::folder_of(adapter_id id) const {
  return std::ranges::find_if(ids_, [&](const auto& known) { return known.second == id; })->first;
}

void small_engine::run(const std::function<void()>& each_step) {
  while (!batching_->idle()) {
    if (step_ == nullptr) {
      if (each_step) each_step();
      begin_step();
    }
    arrange_adapters();  // after the step was planned: what came last has had its chance
    take(device_.next());
  }
}

/// Adapters that texts wait for take free slots; without one, the one that has been there longest takes no
/// new texts and leaves when it has no users.
void small_engine::arrange_adapters() {
  const auto free = [&] { return there_.size() + leaving_.size() + coming_.size() < options_.adapter_slots; };
  unload_unused();
  for (const auto wanted : batching_->wanted_adapters(options_.adapter_slots)) {
    if (coming_.contains(wanted.value) || leaving_.contains(wanted.value)) continue;
    if (std::ranges::count(there_, wanted.value) > 0) continue;
    if (!free() && !there_.empty()) {
      leaving_.insert(there_.front());
      batching_->adapter_unloaded(adapter_id{there_.front()});
      there_.pop_front();
      unload_unused();
    }
    if (!free()) continue;
    coming_.insert(wanted.value);
    device_->load_adapter(wanted, folder_of(wanted));
  }
}

void small_engine::unload_unused() {
  std::erase_if(leaving_, [&](uint32_t id) {
    if (batching_->users(adapter_id{id}) > 0) return false;
    device_->unload_adapter(adapter_id{id});
    return true;
  });
}

void small_engine::begin_step() {
  const auto& planned = batching_->plan();
  if (planned.rows() == 0) return;
  step_ = &planned;
  wishes_.clear();
  for (const auto row : planned.sampled) {
    auto& t = texts_[planned.sequences[planned.row_sequence[row]].value - 1];
    t.counts.clear();
    for (const auto& [which, f] : t.frequency) t.counts.push_back({which, f.prompt, f.output});
    wishes_.push_back({.how = &t.asked.how,
                       .seed = t.asked.seed,
                       .counts = t.counts,
                       .position = t.asked.prompt.size() + t.chosen.size(),
                       .top = t.asked.top});
  }
  device_->start(planned, wishes_);
}

void small_engine::take(const engine_event& e) {
  switch (e.what) {
    case engine_event::kind::step_done: finish_step(e.chosen); break;
    case engine_event::kind::adapter_ready:
      if (coming_.erase(e.adapter.value) == 0) {
        ++others_;
        break;
      }
      ++loads_;
      reads_ += e.from_disk ? 1 : 0;
      CHECK(e.bytes > 0);
      CHECK(e.took > 0ns);
      there_.push_back(e.adapter.value);
      batching_->adapter_loaded(e.adapter);
      break;
    case engine_event::kind::adapter_failed:
      coming_.erase(e.adapter.value);
      failed_[folder_of(e.adapter)] = e.problem;
      for (size_t i = 0; i < texts_.size(); ++i)
        if (texts_[i].asked.adapter == folder_of(e.adapter)) batching_->cancel(sequence_id{i + 1});
      break;
    default: FAIL(e.problem);
  }
}

void small_engine::finish_step(const std::vector<chosen_token>& chosen) {
  REQUIRE(chosen.size() == step_->sampled.size());
  std::vector<sampled_token> done;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto id = step_->sequences[step_->row_sequence[step_->sampled[i]]];
    auto& t = texts_[id.value - 1];
    REQUIRE(chosen[i].valid);
    t.chosen.push_back(chosen[i]);
    ++t.frequency[chosen[i].which].output;
    const auto& stop = t.asked.stop;
    done.push_back({id, chosen[i].which, std::ranges::find(stop, chosen[i].which) != stop.end()});
  }
  step_ = nullptr;
  batching_->done(done);
}

}  // namespace troupe::llm

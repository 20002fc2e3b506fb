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

small_engine::small_engine(computing_options options, scheduler_limits limits)
    : options_(options), device_(std::move(options)) {
  const auto e = device_.next();
  REQUIRE(e.problem == "");
  REQUIRE(e.what == engine_event::kind::loaded);
  facts_ = e.facts;
  limits.blocks = facts_.blocks;
  limits.block_tokens = facts_.block_tokens;
  sequences_ = std::make_unique<sequence_batch>(limits);
}

size_t small_engine::add(asked_sequence sequence) {
  auto adapter = base_model;
  if (!sequence.adapter.empty()) {
    const auto next = adapter_id{static_cast<uint32_t>(ids_.size()) + 1};
    adapter = ids_.try_emplace(sequence.adapter, next).first->second;
  }
  auto params = sequence.sampling;
  params.seed = sequence.seed;
  const auto [id, refused] = sequences_->add({.prompt = sequence.prompt,
                                              .adapter = adapter,
                                              .max_tokens = sequence.max_tokens,
                                              .sampling = params,
                                              .stop = sequence.stop,
                                              .top = sequence.top,
                                              .scope = {adapter, {}, 0}});
  REQUIRE(refused == sequence_batch::refusal::none);
  known_.push_back({std::move(sequence), {}});
  REQUIRE(id.value == known_.size());
  return known_.size() - 1;
}

std::vector<token> small_engine::tokens(size_t sequence) const {
  std::vector<token> out;
  for (const auto& c : known_[sequence].chosen) out.push_back(c.which);
  return out;
}

const std::string& small_engine::folder_of(adapter_id id) const {
  return std::ranges::find_if(ids_, [&](const auto& known) { return known.second == id; })->first;
}

void small_engine::run(const std::function<void()>& each_step) {
  while (!sequences_->scheduler().idle()) {
    while (sequences_->scheduler().under_way() <= facts_.steps_ahead) {
      if (each_step) each_step();
      if (!begin_step()) break;
    }
    arrange_adapters();  // after the step was planned, so that adapters that just arrived were used once
    take(device_.next());
  }
}

/// Adapters of waiting sequences take free slots. Without a free slot, the adapter that was loaded first
/// takes no new sequences and is unloaded when it has no users.
void small_engine::arrange_adapters() {
  const auto free = [&] { return there_.size() + leaving_.size() + coming_.size() < options_.adapter_slots; };
  unload_unused();
  for (const auto wanted : sequences_->scheduler().wanted_adapters(options_.adapter_slots)) {
    if (coming_.contains(wanted.value) || leaving_.contains(wanted.value)) continue;
    if (std::ranges::count(there_, wanted.value) > 0) continue;
    if (!free() && !there_.empty()) {
      leaving_.insert(there_.front());
      sequences_->scheduler().adapter_unloaded(adapter_id{there_.front()});
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
    if (sequences_->scheduler().users(adapter_id{id}) > 0) return false;
    device_->unload_adapter(adapter_id{id});
    return true;
  });
}

bool small_engine::begin_step() {
  const bool ahead = sequences_->scheduler().under_way() > 0;
  const auto& planned = sequences_->plan();
  if (planned.rows() == 0) return false;
  steps_ahead_ += ahead;
  device_->start(planned, sequences_->samplings());
  return true;
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
      sequences_->scheduler().adapter_loaded(e.adapter);
      break;
    case engine_event::kind::adapter_failed:
      coming_.erase(e.adapter.value);
      failed_[folder_of(e.adapter)] = e.problem;
      for (size_t i = 0; i < known_.size(); ++i)
        if (known_[i].asked.adapter == folder_of(e.adapter)) sequences_->cancel(sequence_id{i + 1});
      break;
    default: FAIL(e.problem);
  }
}

void small_engine::finish_step(const std::vector<chosen_token>& chosen) {
  REQUIRE(chosen.size() == sequences_->scheduler().step().sampled.size());
  for (const auto& got : sequences_->done(chosen)) {
    REQUIRE(got.chosen != nullptr);
    known_[got.sequence.value - 1].chosen.push_back(*got.chosen);
  }
}

}  // namespace troupe::llm

// A language model's layers on a GPU: what one step of an engine computes (as gpu/llm/decoder.hpp on a CPU).
// Weights, KV pages, adapters and a step's memory live here.
//
// Steps of decodes alone run as graphs, one for each number of rows (rounded up) and for steps with and
// without adapters, captured after the first step that needs them.
//
// A step can be begun while one is under way. On the device both go through the same tables and activations,
// in the order of one stream; the next one's tables replace those of the one before when that has ended, and
// so what it chooses replaces what that one chose after its embedding has read it. Only the host has two of
// everything: what it writes for one while the other's is still to be copied.
#pragma once
#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/kernels/cuda/sampling_rows.hpp"
#include "gpu/llm/activation.hpp"
#include "gpu/llm/cuda/decoder_step.hpp"
#include "gpu/llm/cuda/layer_image.hpp"
#include "gpu/llm/sampling_arguments.hpp"
#include "messages/llm/step.hpp"

namespace troupe::cuda {

struct cuda_decoder_options {
  uint32_t blocks = 0;  ///< of the KV cache
  uint32_t block_tokens = 16;
  uint32_t adapter_slots = 0;
  bool graphs = true;
};

/// Of one device's model, or of a rank's share of one. Throws model_error, naming what is not supported and
/// why.
decoder_shape shape_of(const llm::model_config& config, uint32_t block_tokens, uint32_t rank = 0,
                       uint32_t ranks = 1);

/// As many blocks as go into so many bytes. Throws model_error if there is not one.
uint32_t kv_blocks(const llm::model_config& config, uint64_t kv_bytes, uint32_t block_tokens);

/// Of numbers E, 16 bits. One caller at a time, which is bound to the device.
template <class Machine, element E>
class cuda_decoder {
 public:
  /// Throws what the machine throws if there is no room.
  cuda_decoder(Machine& machine, const llm::model_config& config, const cuda_decoder_options& options)
      : m_(machine),
        shape_(shape_of(config, options.block_tokens, machine.rank(), machine.ranks())),
        options_(options),
        window_(config.window),
        tied_(config.tied_embeddings),
        layers_(config.layers + 2),
        pointers_(config.layers),
        frequencies_(config.rope_frequencies.size() * sizeof(float)),
        pages_(size_t{options.blocks} * page_bytes()),
        slots_(std::max<size_t>(1, size_t{options.adapter_slots} * slot_size() * sizeof(lora_matrices))),
        host_slots_(slots_.size()) {
    m_.upload(frequencies_.data(), config.rope_frequencies.data(), frequencies_.size());
    m_.clear(slots_.data(), slots_.size());
    m_.finish();
    slot_of_.reserve(options.adapter_slots);
    adapters_.matrices = slots_.template as<lora_matrices>();
  }

  const decoder_shape& shape() const { return shape_; }
  size_t page_bytes() const {
    return size_t{shape_.layers} * 2 * shape_.kv_heads * shape_.block_tokens * shape_.head_dim * 2;
  }
  /// On the device: blocks, one after the other, laid out as on a CPU.
  std::span<std::byte> pages() const { return {pages_.data(), pages_.size()}; }

  /// Takes a layer of the checkpoint (numbered as there). In any order.
  void load(uint32_t layer, const layer_image& image) {
    assert(layer < layers_.size());
    layers_[layer] = typename Machine::memory(image.bytes().size());
    m_.upload(layers_[layer].data(), image.bytes().data(), image.bytes().size());
    m_.finish();
    const std::byte* base = layers_[layer].data();
    if (layer == 0) {
      embedding_ = image.embedding(base);
      if (tied_)
        head_ = static_cast<const uint16_t*>(embedding_) + size_t{shape_.part().first} * shape_.hidden;
    } else if (layer <= shape_.layers) {
      pointers_[layer - 1] = image.at(base);
    } else {
      final_norm_ = image.final_norm(base);
      if (!tied_) head_ = image.head(base);
    }
  }

  /// The adapter's bytes are on the device; they stay there until `unload`. Requires: a slot is free.
  void load(llm::adapter_id id, const adapter_image& image, const std::byte* base) {
    const std::vector<lora_matrices> matrices = image.at(base);
    assert(matrices.size() == slot_size());
    std::vector<bool> taken(options_.adapter_slots);
    for (const auto& [other, slot] : slot_of_) taken[slot] = true;
    const auto slot = static_cast<uint32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    assert(slot < options_.adapter_slots);
    const size_t bytes = slot_size() * sizeof(lora_matrices);
    std::memcpy(host_slots_.data() + slot * bytes, matrices.data(), bytes);
    m_.upload(slots_.data() + slot * bytes, host_slots_.data() + slot * bytes, bytes);
    slot_of_.emplace_back(id, slot);
    if (image.max_ranks() <= adapters_.max_ranks) return;
    adapters_.max_ranks = image.max_ranks();  // kernels need more shared memory
    adapters_.wide_tiles = lora_kernel<E, Machine::cluster>::shared_bytes(adapters_.max_ranks, wide_tile) <=
                           m_.max_shared_bytes();
    m_.drop_graphs();
  }
  /// Requires: no step uses it any more.
  void unload(llm::adapter_id id) {
    std::erase_if(slot_of_, [id](const auto& one) { return one.first == id; });
  }
  bool has(llm::adapter_id id) const { return find(id) != no_adapter; }

  /// Begins to run layers [first, end) of the checkpoint on a step's rows. x [rows, hidden]: what the layer
  /// before gave, unless `first` is 0, and what the last one gives, unless that is the head; may be null for
  /// whole steps. If the head runs, it samples tokens; of ranks that share the model only the
  /// first does. x stays where it is until the step has ended, the rest is read before it returns. Requires:
  /// at most one step is under way.
  void begin(const llm::llm_step& step, std::span<const llm::token_sampling> samplings, uint32_t first,
             uint32_t end, llm::activation* x) {
    const uint32_t last = shape_.layers + 2;
    assert(under_way_ < steps_.size() && (end != last || samplings.size() == step.sampled.size()));
    if (under_way_ == 0) m_.finish();  // what a step that failed as it was begun has left
    const uint32_t index = (first_ + under_way_) % 2;
    host_side& host = steps_[index];
    const step_extent exact = prepare(step, samplings, host, steps_[1 - index]);
    const bool whole = first == 0 && end == last;
    if (first > 0) m_.upload(activations_.residual, x->data(), x->size() * sizeof(float));
    if (options_.graphs && whole && exact.prefill_items == 0 && exact.rows <= max_graph_rows) {
      step_extent padded = exact;
      padded.rows = padded.sampled = graph_rows(exact.rows);
      padded.tiles = exact.tiles > 0 ? padded.rows : 0;
      padded.decode_items = 1;  // any number: their kernel's grid does not depend on it
      padded.prefill_items = 0;
      m_.replay(padded.rows * 2 + (padded.tiles > 0), [&] { launch(padded, first, end); });
    } else {
      launch(exact, first, end);
    }
    host.sampled = end == last ? exact.sampled : 0;
    if (host.sampled > 0) {
      m_.download(host.chosen.data(), activations_.chosen, host.sampled * sizeof(sampled_row));
    } else if (end < last) {
      x->resize(size_t{step.rows()} * shape_.hidden);
      m_.download(x->data(), activations_.residual, x->size() * sizeof(float));
    }
    m_.mark(index);
    ++under_way_;
  }
  /// Whether the first step under way has ended.
  bool is_ready() { return m_.reached(first_); }
  /// Waits for it, and gives what it chose. If it throws no step is under way any more.
  void finish(std::vector<llm::chosen_token>& chosen) {
    assert(under_way_ > 0);
    const uint32_t under_way = std::exchange(under_way_, 0);
    m_.wait(first_);
    under_way_ = under_way - 1;
    const host_side& host = steps_[std::exchange(first_, 1 - first_)];
    if (!leads()) return;
    const auto* chosen_rows = reinterpret_cast<const sampled_row*>(host.chosen.data());
    chosen.resize(host.sampled);
    for (size_t i = 0; i < chosen.size(); ++i)
      llm::sampling_arguments::fill_logprobs(chosen_rows[i].chosen, chosen_rows[i].top,
                                             host.to_choose.rows()[i].top, chosen[i]);
  }

  /// [rows, vocabulary]: of the last step's first sampled rows, with penalties and biases added. Of ranks
  /// that share the model only the first one has them.
  std::vector<float> logits(size_t rows) {
    assert(leads());
    std::vector<float> out(rows * shape_.vocabulary);
    for (size_t i = 0; i < rows; ++i)
      m_.download(out.data() + i * shape_.vocabulary, activations_.logits + i * shape_.logits_stride(),
                  shape_.vocabulary * sizeof(float));
    m_.finish();
    return out;
  }

 private:
  static constexpr uint32_t max_graph_rows = 256;
  static constexpr size_t gap_worth_a_copy = 32 << 10;  // bytes that go over the bus while a copy begins
  /// What the host has of a step under way.
  struct host_side {
    typename Machine::host_memory tables, chosen;
    sampling_rows to_choose;
    uint32_t sampled = 0;
  };
  bool leads() const { return m_.rank() == 0; }
  /// Every row of a batch costs little beside the weights: graphs for 1, 2, 4 and multiples of 8.
  static uint32_t graph_rows(uint32_t rows) { return rows <= 2 ? rows : rows <= 4 ? 4 : (rows + 7) / 8 * 8; }
  size_t slot_size() const { return size_t{shape_.layers} * adapter_slots::projections; }
  uint32_t find(llm::adapter_id id) const {
    const auto found =
        std::find_if(slot_of_.begin(), slot_of_.end(), [id](const auto& one) { return one.first == id; });
    return found == slot_of_.end() ? no_adapter : found->second;
  }

  void launch(const step_extent& extent, uint32_t first, uint32_t end) {
    const kv_pages kv{pages_.data(), shape_.layers, shape_.kv_heads, shape_.block_tokens, shape_.head_dim};
    decoder_step<Machine, E> s(m_, shape_, step_tables(device_tables_.data(), *layout_), activations_, kv,
                               adapters_, extent);
    if (first == 0 && end > 0) s.embed(embedding_);
    const uint32_t from = std::max(first, 1U), to = std::min(end, shape_.layers + 1);
    if (from < to) s.turn(frequencies_.template as<float>());
    for (uint32_t l = from; l < to; ++l) s.layer(l - 1, pointers_[l - 1], window_[l - 1], l > from);
    if (end == shape_.layers + 2) {
      if (extent.sampled == 0) return;
      s.head(final_norm_, head_, from < to);
      if (leads()) s.choose();
      s.broadcast_chosen();
    } else if (from < to) {
      s.settle(pointers_[to - 2].post_norm);
    }
  }

  /// Writes the step's tables and sends them.
  step_extent prepare(const llm::llm_step& step, std::span<const llm::token_sampling> samplings,
                      host_side& host, const host_side& before) {
    host.to_choose.clear();
    for (size_t i = 0; i < samplings.size(); ++i) {
      const uint32_t row = step.sampled[i];
      host.to_choose.add(arguments_.of(samplings[i], shape_.vocabulary),
                         llm::is_chosen_before(step.tokens[row]) ? row : row_sampling::no_row);
    }
    slots_of_segments_.clear();
    for (const llm::adapter_id id : step.segment_adapters)
      slots_of_segments_.push_back(id == llm::base_model ? no_adapter : find(id));
    cut_lora_tiles(step.segment_end, slots_of_segments_, adapters_.tile_rows(step.rows()), tiles_);
    plan_.make(step.row_sequence, step.positions);
    step_extent exact;
    exact.rows = step.rows(), exact.sampled = static_cast<uint32_t>(step.sampled.size());
    exact.sequences = static_cast<uint32_t>(step.sequences.size());
    exact.block_entries = static_cast<uint32_t>(step.blocks.size());
    exact.tiles = static_cast<uint32_t>(tiles_.size());
    exact.decode_items = static_cast<uint32_t>(plan_.decode.size());
    exact.prefill_items = static_cast<uint32_t>(plan_.prefill.size());
    exact.adjustments = static_cast<uint32_t>(host.to_choose.adjustments().size());
    if (!has_room(exact, host)) {  // on all ranks, or on none
      m_.barrier();
      make_room(exact, host, before);
      m_.barrier();
    }

    const step_tables to(host.tables.data(), *layout_);
    *to.counts = {exact.rows, exact.sampled, exact.decode_items, exact.prefill_items};
    // room that a large step once needed is not sent with every small one
    size_t begin = 0, end = sizeof(step_counts);
    const auto send = [&] {
      m_.upload(device_tables_.data() + begin, host.tables.data() + begin, end - begin);
    };
    const auto copy = [&](auto* where, const auto& what) {  // in the order of the layout
      if (what.empty()) return;
      const auto at = static_cast<size_t>(reinterpret_cast<std::byte*>(where) - host.tables.data());
      const size_t bytes = what.size() * sizeof(what[0]);
      std::memcpy(host.tables.data() + at, what.data(), bytes);
      if (at > end + gap_worth_a_copy) send(), begin = at;
      end = at + bytes;
    };
    copy(to.tokens, step.tokens), copy(to.positions, step.positions),
        copy(to.row_sequence, step.row_sequence);
    copy(to.sampled, step.sampled), copy(to.block_start, step.block_start), copy(to.blocks, step.blocks);
    tiles_.resize(std::max<size_t>(tiles_.size(), max_graph_rows));  // those of a graph's grid have no rows
    copy(to.tiles, tiles_), copy(to.decode_items, plan_.decode), copy(to.prefill_items, plan_.prefill);
    copy(to.samplings, host.to_choose.rows()), copy(to.adjustments, host.to_choose.adjustments());
    send();
    return exact;
  }

  bool device_has_room(const step_extent& e) const {
    return layout_ && room_.holds(e) && (e.rows > max_graph_rows || room_.rows >= graph_rows(e.rows));
  }
  bool has_room(const step_extent& e, const host_side& host) const {
    return device_has_room(e) && host.tables.size() == layout_->bytes &&
           host.chosen.size() == room_.sampled * sizeof(sampled_row);
  }
  void make_room(const step_extent& e, host_side& host, const host_side& before) {
    if (!device_has_room(e)) make_device_room(e, before);
    if (host.tables.size() != layout_->bytes) {
      host.tables = typename Machine::host_memory(layout_->bytes);
      std::memset(host.tables.data(), 0, layout_->bytes);
    }
    if (const size_t bytes = room_.sampled * sizeof(sampled_row); host.chosen.size() != bytes)
      host.chosen = typename Machine::host_memory(bytes);
  }
  /// Twice of what is needed, so that it seldom happens again: graphs know where everything is. If that does
  /// not fit there is room for nothing, and the next step asks for what it needs. What the step before has
  /// chosen comes along.
  void make_device_room(const step_extent& e, const host_side& before) {
    const auto more = [](uint32_t& have, uint32_t wanted, uint32_t min) {
      if (have < wanted || have < min) have = std::max(min, 2 * wanted);
    };
    step_extent room = room_;
    more(room.rows, e.rows, max_graph_rows), more(room.sampled, e.sampled, max_graph_rows);
    more(room.sequences, e.sequences, 256), more(room.block_entries, e.block_entries, 4096);
    room.tiles = room.rows;  // at most; how many there are is a matter of each rank's GPU
    more(room.decode_items, e.decode_items, 1024), more(room.prefill_items, e.prefill_items, 64);
    more(room.adjustments, e.adjustments, 256);
    m_.drop_graphs();
    layout_.reset();
    room_ = {};
    memory_ = {}, device_tables_ = {};  // before there is more
    step_activations none;
    memory_ = typename Machine::memory(none.place(nullptr, shape_, room));
    activations_.place(memory_.data(), shape_, room);
    m_.clear(activations_.arrived, size_t{room.rows} * shape_.kv_heads * sizeof(uint32_t));
    const table_layout layout(room);
    device_tables_ = typename Machine::memory(layout.bytes);
    if (const uint32_t rows = std::min(before.sampled, room.sampled); rows > 0)
      m_.upload(activations_.chosen, before.chosen.data(), rows * sizeof(sampled_row));
    layout_ = layout, room_ = room;
  }

  Machine& m_;
  const decoder_shape shape_;
  const cuda_decoder_options options_;
  const std::vector<uint32_t> window_;
  const bool tied_;

  std::vector<typename Machine::memory> layers_;  // as the checkpoint numbers them
  std::vector<layer_pointers> pointers_;
  const void *embedding_ = nullptr, *final_norm_ = nullptr, *head_ = nullptr;
  typename Machine::memory frequencies_, pages_;
  typename Machine::memory slots_;            // lora_matrices [slots, layers, projections]
  typename Machine::host_memory host_slots_;  // what was sent there
  std::vector<std::pair<llm::adapter_id, uint32_t>> slot_of_;
  adapter_slots adapters_;

  step_extent room_;
  std::optional<table_layout> layout_;
  typename Machine::memory memory_, device_tables_;
  std::array<host_side, 2> steps_;
  uint32_t first_ = 0, under_way_ = 0;  // of `steps_`, in turns
  step_activations activations_;
  std::vector<uint32_t> slots_of_segments_;
  std::vector<lora_tile> tiles_;
  attention_plan plan_;
  llm::sampling_arguments arguments_;
};

}  // namespace troupe::cuda

// The memory of a decoder's steps. Device: the tables and activations of one step, which all steps share in
// the order of the stream. Host: tables and chosen tokens of two steps in flight, as a copy of one may still
// be pending while the next one is written.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "gpu/kernels/cuda/sampling_rows.hpp"
#include "gpu/llm/cuda/step_memory.hpp"
#include "messages/llm/step.hpp"

namespace troupe::cuda {

/// Contents of a step's tables, in host memory.
struct step_contents {
  std::vector<lora_tile> tiles;
  attention_plan plan;
  sampling_rows to_choose;

  step_extent extent(const llm::llm_step& step) const {
    step_extent e;
    e.rows = step.rows(), e.sampled = static_cast<uint32_t>(step.sampled.size());
    e.sequences = static_cast<uint32_t>(step.sequences.size());
    e.block_entries = static_cast<uint32_t>(step.blocks.size());
    e.tiles = static_cast<uint32_t>(tiles.size());
    e.decode_items = static_cast<uint32_t>(plan.decode.size());
    e.prefill_items = static_cast<uint32_t>(plan.prefill.size());
    e.adjustments = static_cast<uint32_t>(to_choose.adjustments().size());
    return e;
  }
};

/// `slot`: 0 or 1, alternating between steps.
template <class Machine>
class step_buffers {
 public:
  /// `machine` must outlive this.
  step_buffers(Machine& machine, const decoder_shape& shape) : m_(machine), shape_(shape) {}

  /// Allocates memory for a step if there is too little: twice the need, because this drops all captured
  /// graphs. If it throws, all memory is freed, and the next step allocates its own. Collective: the ranks of
  /// a model either all have too little memory or none has.
  void reserve(const step_extent& e, uint32_t slot) {
    if (has_room(e, slots_[slot])) return;
    m_.barrier();
    if (!device_has_room(e)) make_device_room(e, slots_[1 - slot]);
    make_host_room(slots_[slot]);
    m_.barrier();
  }
  /// Enqueues the copy of a step's tables to the device. Pads `contents.tiles` with empty tiles up to the
  /// grid of a graph. Requires: `reserve` made room.
  void upload_tables(const llm::llm_step& step, step_contents& contents, uint32_t slot) {
    const typename Machine::host_memory& host = slots_[slot].tables;
    const step_tables to(host.data(), *layout_);
    const step_extent e = contents.extent(step);
    *to.counts = {e.rows, e.sampled, e.decode_items, e.prefill_items};
    // Wide gaps between tables, left by a larger step, are not copied.
    size_t begin = 0, end = sizeof(step_counts);
    const auto send = [&] { m_.upload(device_tables_.data() + begin, host.data() + begin, end - begin); };
    const auto copy = [&](auto* where, const auto& what) {  // in the order of the layout
      if (what.empty()) return;
      const auto at = static_cast<size_t>(reinterpret_cast<std::byte*>(where) - host.data());
      const size_t bytes = what.size() * sizeof(what[0]);
      std::memcpy(host.data() + at, what.data(), bytes);
      if (at > end + gap_worth_a_copy) send(), begin = at;
      end = at + bytes;
    };
    copy(to.tokens, step.tokens), copy(to.positions, step.positions),
        copy(to.row_sequence, step.row_sequence);
    copy(to.sampled, step.sampled), copy(to.block_start, step.block_start), copy(to.blocks, step.blocks);
    auto& tiles = contents.tiles;
    tiles.resize(std::max<size_t>(tiles.size(), max_graph_rows));
    copy(to.tiles, tiles), copy(to.decode_items, contents.plan.decode);
    copy(to.prefill_items, contents.plan.prefill);
    copy(to.samplings, contents.to_choose.rows()), copy(to.adjustments, contents.to_choose.adjustments());
    send();
  }
  /// Enqueues the copy of the first `count` chosen tokens to the host.
  void download_chosen(uint32_t count, uint32_t slot) {
    auto& host = slots_[slot];
    host.sampled = count;
    if (count > 0) m_.download(host.chosen.data(), activations_.chosen, count * sizeof(sampled_row));
  }
  /// Valid when that copy is done, until the slot's next step.
  std::span<const sampled_row> chosen(uint32_t slot) const {
    return {reinterpret_cast<const sampled_row*>(slots_[slot].chosen.data()), slots_[slot].sampled};
  }

  /// On the device.
  step_tables tables() const { return {device_tables_.data(), *layout_}; }
  const step_activations& activations() const { return activations_; }

 private:
  static constexpr size_t gap_worth_a_copy = 32 << 10;  // bytes that the bus moves while a copy starts
  struct host_side {
    typename Machine::host_memory tables, chosen;
    uint32_t sampled = 0;
  };

  bool device_has_room(const step_extent& e) const {
    return layout_ && room_.holds(e) && (e.rows > max_graph_rows || room_.rows >= graph_rows(e.rows));
  }
  bool has_room(const step_extent& e, const host_side& host) const {
    return device_has_room(e) && host.tables.size() == layout_->bytes &&
           host.chosen.size() == room_.sampled * sizeof(sampled_row);
  }
  void make_host_room(host_side& host) {
    if (host.tables.size() != layout_->bytes) {
      host.tables = typename Machine::host_memory(layout_->bytes);
      std::memset(host.tables.data(), 0, layout_->bytes);
    }
    if (const size_t bytes = room_.sampled * sizeof(sampled_row); host.chosen.size() != bytes)
      host.chosen = typename Machine::host_memory(bytes);
  }
  /// Keeps the tokens that the step before chose, for a step that was begun ahead.
  void make_device_room(const step_extent& e, const host_side& before) {
    const auto more = [](uint32_t& have, uint32_t wanted, uint32_t min) {
      if (have < wanted || have < min) have = std::max(min, 2 * wanted);
    };
    step_extent room = room_;
    more(room.rows, e.rows, max_graph_rows), more(room.sampled, e.sampled, max_graph_rows);
    more(room.sequences, e.sequences, 256), more(room.block_entries, e.block_entries, 4096);
    room.tiles = room.rows;  // the maximum, as ranks with different GPUs may cut different tiles
    more(room.decode_items, e.decode_items, 1024), more(room.prefill_items, e.prefill_items, 64);
    more(room.adjustments, e.adjustments, 256);
    m_.drop_graphs();
    layout_.reset();
    room_ = {};
    memory_ = {}, device_tables_ = {};  // freed before the new memory is allocated
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
  step_extent room_;
  std::optional<table_layout> layout_;  // empty: there is no room
  typename Machine::memory memory_, device_tables_;
  step_activations activations_;
  std::array<host_side, 2> slots_;
};

}  // namespace troupe::cuda

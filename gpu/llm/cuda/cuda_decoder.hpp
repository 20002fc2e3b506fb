// A language model on a GPU: weights, KV cache, adapters, and steps (as gpu/llm/decoder.hpp on a CPU). It is
// the model of an engine's device (gpu/llm/computing_engine_device.hpp).
//
// A step of decodes runs as a CUDA graph. There is one for each number of rows (rounded up), with and without
// adapters, captured after the first step that needs it.
//
// A step can be begun while another one is in flight. Both use the same tables and activations on the device,
// in the order of one stream. The embedding of the second step reads the tokens that the first one chose,
// before its own replace them.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gpu/llm/activation.hpp"
#include "gpu/llm/cuda/decoder_step.hpp"
#include "gpu/llm/cuda/resident_adapters.hpp"
#include "gpu/llm/cuda/staging_buffers.hpp"
#include "gpu/llm/cuda/step_buffers.hpp"
#include "gpu/llm/image_set.hpp"
#include "gpu/llm/row_major_image.hpp"
#include "gpu/llm/sampling_arguments.hpp"
#include "gpu/llm/step_model.hpp"
#include "messages/llm/step.hpp"

namespace troupe::cuda {

struct cuda_decoder_options {
  uint64_t kv_bytes = 0;  ///< size limit of the KV cache
  uint32_t block_tokens = 16;
  uint32_t adapter_slots = 0;
  bool graphs = true;
  size_t staging_bytes = 4 << 20;  ///< of each of the two buffers for the copies of weights
};

/// Machine is cuda_machine (gpu/kernels/cuda/cuda_machine.cuh), or the tests' emulated_machine. E: type of
/// weights, KV cache and activations, 16 bits. The calling thread must be bound to the machine's device.
template <class Machine, element E>
class cuda_decoder final : public llm::step_model {
 public:
  /// Of a whole model, or of the shard of the machine's rank. Throws model_error if the kernels do not
  /// support the model or the KV cache has no room for a block, and the machine's exceptions if memory is
  /// short.
  cuda_decoder(std::unique_ptr<Machine> machine, const llm::model_config& config,
               const cuda_decoder_options& options)
      : machine_(std::move(machine)),
        config_(config),
        shape_(shape_of(config, options.block_tokens, machine_->rank(), machine_->ranks())),
        blocks_(kv_blocks(shape_, options.kv_bytes)),
        graphs_(options.graphs),
        layers_(config.layers + 2),
        pointers_(config.layers),
        frequencies_(config.rope.frequencies.size() * sizeof(float)),
        pages_(blocks_ * shape_.page_bytes()),
        adapters_(*machine_, config.layers, options.adapter_slots),
        staging_(*machine_, options.staging_bytes),
        buffers_(*machine_, shape_) {
    machine_->upload(frequencies_.data(), config.rope.frequencies.data(), frequencies_.size());
    machine_->finish();
  }
  /// A step may still be in flight.
  ~cuda_decoder() override { machine_->quiesce(); }

  llm::engine_facts facts() const override {
    llm::engine_facts f;
    f.blocks = blocks_, f.block_tokens = shape_.block_tokens, f.block_bytes = shape_.page_bytes();
    f.steps_ahead = 1;
    f.longest_step = std::chrono::minutes(2);  // about 100 times the step of the largest prompt
    return f;
  }
  /// In any order, as `adopt`.
  uint64_t load(uint32_t layer, const llm::layer_parameters& parameters) override {
    const llm::row_major_image image(llm::shapes_of(parameters), E);
    std::vector<std::byte> bytes(image.bytes());
    image.content(parameters.views()).write(bytes);
    return place(layer, image, bytes);
  }
  /// Copies the image to the device. Requires: it is row-major, of type E.
  uint64_t adopt(uint32_t layer, const std::shared_ptr<const llm::image_set>& images) override {
    assert(images->format().layout == llm::image_layout::row_major && images->format().weights == E);
    return place(layer, {llm::parameters_of(config_, layer), E}, images->image(layer));
  }
  std::shared_ptr<const llm::packed_adapter> pack(const llm::adapter& read) override {
    return adapters_.pack(read, config_);
  }
  void load(llm::adapter_id id, std::shared_ptr<const llm::packed_adapter> adapter) override {
    adapters_.load(id, std::move(adapter));
  }
  void unload(llm::adapter_id id) override { adapters_.unload(id); }
  bool has(llm::adapter_id id) const { return adapters_.slot_of(id) != no_adapter; }

  /// x must stay where it is until the step has ended; other arguments are read before the call returns. Of
  /// the ranks of a model, only rank 0 samples.
  void begin(const llm::llm_step& step, std::span<const llm::token_sampling> samplings, uint32_t first,
             uint32_t end, llm::activation* x) override {
    assert(in_flight_ < 2 && (end != head_end() || samplings.size() == step.sampled.size()));
    if (in_flight_ == 0) machine_->finish();  // work of a step whose begin failed
    const uint32_t slot = (oldest_ + in_flight_) % 2;
    const step_extent extent = upload_tables(step, samplings, slot);
    const bool whole = first == 0 && end == head_end();
    if (first > 0) machine_->upload(activations().residual, x->data(), x->size() * sizeof(float));
    if (graphs_ && whole && extent.prefill_items == 0 && extent.rows <= max_graph_rows) {
      const step_extent padded = graph_extent(extent);
      machine_->replay(padded.rows * 2 + (padded.tiles > 0), [&] { launch(padded, first, end); });
    } else {
      launch(extent, first, end);
    }
    buffers_.download_chosen(end == head_end() ? extent.sampled : 0, slot);
    if (end < head_end()) {
      x->resize(size_t{step.rows()} * shape_.hidden);
      machine_->download(x->data(), activations().residual, x->size() * sizeof(float));
    }
    machine_->mark(slot);
    ++in_flight_;
  }
  bool is_ready() override { return machine_->reached(oldest_); }
  /// A step is never stopped early. Ranks other than 0 leave `chosen` as it is.
  bool finish(std::vector<llm::chosen_token>& chosen, const std::atomic<bool>&) override {
    assert(in_flight_ > 0);
    const uint32_t in_flight = std::exchange(in_flight_, 0);
    machine_->wait(oldest_);
    in_flight_ = in_flight - 1;
    const uint32_t slot = std::exchange(oldest_, 1 - oldest_);
    if (machine_->rank() > 0) return true;
    const std::span<const sampled_row> rows = buffers_.chosen(slot);
    chosen.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i)
      llm::sampling_arguments::fill_logprobs(rows[i].chosen, rows[i].top,
                                             contents_[slot].to_choose.rows()[i].top, chosen[i]);
    return true;
  }
  /// Its pages are on the device.
  llm::kv_cache_memory kv_memory() override { return {}; }

  /// [rows, vocabulary]: logits of the last step's first sampled rows, with penalties and biases added.
  /// Requires: rank 0.
  std::vector<float> logits(size_t rows) {
    assert(machine_->rank() == 0);
    std::vector<float> out(rows * shape_.vocabulary);
    for (size_t i = 0; i < rows; ++i)
      machine_->download(out.data() + i * shape_.vocabulary,
                         activations().logits + i * shape_.logits_stride(),
                         shape_.vocabulary * sizeof(float));
    machine_->finish();
    return out;
  }

 private:
  uint32_t head_end() const { return shape_.layers + 2; }
  const step_activations& activations() const { return buffers_.activations(); }

  /// The embedding and the head may be stored as one.
  uint64_t place(uint32_t layer, const llm::row_major_image& image, std::span<const std::byte> bytes) {
    assert(layer < layers_.size() && bytes.size() == image.bytes());
    typename Machine::memory there(bytes.size());
    staging_.copy(there.data(), bytes);
    using part = llm::row_major_image::part;
    const auto at = [&](part p) { return image.at(there.data(), p); };
    if (layer == 0) {
      embedding_ = at(part::embedding);
      if (config_.tied_embeddings)
        head_ = static_cast<const uint16_t*>(embedding_) + size_t{shape_.part().first} * shape_.hidden;
    } else if (layer <= shape_.layers) {
      pointers_[layer - 1] = {
          at(part::input_norm), at(part::post_norm), at(part::qkv),     at(part::qkv_bias),
          at(part::o),          at(part::o_bias),    at(part::gate_up), at(part::gate_up_bias),
          at(part::down),       at(part::down_bias)};
    } else {
      final_norm_ = at(part::final_norm);
      if (!config_.tied_embeddings) head_ = at(part::head);
    }
    layers_[layer] = std::move(there);
    if (std::ranges::all_of(layers_, [](const auto& l) { return l.size() > 0; })) staging_.release();
    return bytes.size();
  }

  step_extent upload_tables(const llm::llm_step& step, std::span<const llm::token_sampling> samplings,
                            uint32_t slot) {
    step_contents& contents = contents_[slot];
    contents.to_choose.clear();
    for (size_t i = 0; i < samplings.size(); ++i) {
      const uint32_t row = step.sampled[i];
      contents.to_choose.add(arguments_.of(samplings[i], shape_.vocabulary),
                             llm::is_chosen_before(step.tokens[row]) ? row : row_sampling::no_row);
    }
    slots_of_segments_.clear();
    for (const llm::adapter_id id : step.segment_adapters)
      slots_of_segments_.push_back(id == llm::base_model ? no_adapter : adapters_.slot_of(id));
    cut_lora_tiles(step.segment_end, slots_of_segments_, adapters_.slots().tile_rows(step.rows()),
                   contents.tiles);
    contents.plan.make(step.row_sequence, step.positions);
    const step_extent extent = contents.extent(step);
    buffers_.reserve(extent, slot);
    buffers_.upload_tables(step, contents, slot);
    return extent;
  }

  void launch(const step_extent& extent, uint32_t first, uint32_t end) {
    const kv_pages kv{pages_.data(), shape_.layers, shape_.kv_heads, shape_.block_tokens, shape_.head_dim};
    decoder_step<Machine, E> s(*machine_, shape_, buffers_.tables(), activations(), kv, adapters_.slots(),
                               extent);
    if (first == 0 && end > 0) s.embed(embedding_);
    const uint32_t from = std::max(first, 1U), to = std::min(end, shape_.layers + 1);
    if (from < to) s.rope_angles(frequencies_.template as<float>());
    for (uint32_t l = from; l < to; ++l) s.layer(l - 1, pointers_[l - 1], config_.window[l - 1], l > from);
    if (end == head_end()) {
      if (extent.sampled == 0) return;
      s.head(final_norm_, head_, from < to);
      if (machine_->rank() == 0) s.sample();
      s.broadcast_chosen();
    } else if (from < to) {
      s.add_delta(pointers_[to - 2].post_norm);
    }
  }

  const std::unique_ptr<Machine> machine_;
  const llm::model_config config_;
  const decoder_shape shape_;
  const uint32_t blocks_;
  const bool graphs_;

  std::vector<typename Machine::memory> layers_;  // as the checkpoint numbers them
  std::vector<layer_pointers> pointers_;
  const void *embedding_ = nullptr, *final_norm_ = nullptr, *head_ = nullptr;
  typename Machine::memory frequencies_, pages_;
  resident_adapters<Machine, E> adapters_;
  staging_buffers<Machine> staging_;

  step_buffers<Machine> buffers_;
  std::array<step_contents, 2> contents_;  // of steps in flight
  uint32_t oldest_ = 0, in_flight_ = 0;    // slot of the oldest step in flight; number of steps
  std::vector<uint32_t> slots_of_segments_;
  llm::sampling_arguments arguments_;
};

}  // namespace troupe::cuda

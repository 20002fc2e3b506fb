// Benchmark of attention with the shapes of Llama-2-7B, and with grouped queries. Launches use the keys and
// values of many layers in turn, so that each reads cold memory.
#include <cmath>

#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/launch.cuh"
#include "gpu/kernels/cuda/paged_decode_kernel.hpp"
#include "gpu/kernels/cuda/warpgroup_prefill_kernel.hpp"

namespace troupe::cuda {

namespace {

constexpr element number = element::bf16;
constexpr uint32_t dim = 128, page_tokens = 16;

/// Sequences of one length, with their last `rows` rows as queries.
struct attention_load {
  attention_load(bench& b, uint32_t sequences, uint32_t tokens, uint32_t rows_each, uint32_t heads,
                 uint32_t kv_heads)
      : pages_each(ceil_div(tokens, page_tokens)) {
    for (uint32_t s = 0; s < sequences; ++s)
      for (uint32_t r = 0; r < rows_each; ++r)
        sequence.push_back(s), position.push_back(tokens - rows_each + r);
    plan.make(sequence, position);
    rows = sequences * rows_each;
    bytes = 4.0 * sequences * tokens * kv_heads * dim;
    layers = std::min<uint32_t>(bench::cold_sets(bytes), 64);
    if (layers % bench::launches != 0) layers = (layers / bench::launches + 1) * bench::launches;
    kv = {nullptr, layers, kv_heads, page_tokens, dim};
    memory = device_memory(size_t{sequences} * pages_each * layers * kv.layer_size() * 2);
    kv.pages = memory.data();
    b.fill(kv.pages, memory.size() / 2, number, 1);
    q = device_memory(size_t{rows} * heads * dim * 2), out = device_memory(q.size());
    b.fill(q.data(), q.size() / 2, number, 1);
    std::vector<uint32_t> start{0}, blocks;
    for (uint32_t i = 0; i < sequences * pages_each; ++i)
      blocks.push_back((i * 7919) % (sequences * pages_each));
    for (uint32_t s = 0; s < sequences; ++s) start.push_back(start.back() + pages_each);
    starts = on_device(start), pages = on_device(blocks);
  }
  template <class Kernel>
  void set_up(Kernel& k, uint32_t heads) const {
    k.q = q.data(), k.q_stride = size_t{heads} * dim, k.out = out.data(), k.heads = heads, k.kv = kv;
    k.table = {starts.as<uint32_t>(), pages.as<uint32_t>()};
    k.scale = 1.4426950408889634F / std::sqrt(static_cast<float>(dim));
  }

  uint32_t pages_each, rows, layers;
  double bytes;  // of keys and values
  std::vector<uint32_t> sequence, position;
  attention_plan plan;
  kv_pages kv;
  device_memory memory, q, out, starts, pages;
};

void decode(bench& b, const std::string& name, uint32_t sequences, uint32_t tokens, uint32_t heads,
            uint32_t kv_heads, bool early) {
  const attention_load load(b, sequences, tokens, 1, heads, kv_heads);
  const size_t items = load.plan.decode.size();
  const device_memory table = on_device(load.plan.decode),
                      count = on_device(std::vector{static_cast<uint32_t>(items)});
  const device_memory partial_out(items * heads * dim * 4), partial_sums(items * heads * 2 * 4);
  const device_memory arrived = on_device(std::vector<uint32_t>(load.rows * kv_heads));
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "the device's facts");
  const double us = b.time(load.layers, [&](cudaStream_t stream, uint32_t i) {
    const auto run = [&](auto k) {
      load.set_up(k, heads);
      k.layer = i;
      k.item_count = count.as<uint32_t>(), k.items = table.as<decode_item>();
      k.partial_out = partial_out.as<float>(), k.partial_sums = partial_sums.as<float>();
      k.arrived = arrived.as<uint32_t>();
      launch(k, k.grid(static_cast<uint32_t>(multiprocessors)), stream, early);
    };
    heads / kv_heads <= 8 ? run(paged_decode_kernel<number, dim, 1>{})
                          : run(paged_decode_kernel<number, dim, 2>{});
  });
  b.add({name,
         std::to_string(sequences) + " x kv " + std::to_string(tokens) + ", " + std::to_string(heads) + ":" +
             std::to_string(kv_heads) + " heads x 128",
         us, load.bytes, 0});
}

template <class Kernel>
void prefill(bench& b, const std::string& name, uint32_t sequences, uint32_t tokens, uint32_t heads,
             uint32_t kv_heads) {
  const attention_load load(b, sequences, tokens, tokens, heads, kv_heads);
  const device_memory table = on_device(load.plan.prefill),
                      count = on_device(std::vector{static_cast<uint32_t>(load.plan.prefill.size())});
  const double us = b.time(bench::launches, [&](cudaStream_t stream, uint32_t i) {
    Kernel k;
    load.set_up(k, heads);
    k.layer = i % load.layers;
    k.item_count = count.as<uint32_t>(), k.items = table.as<prefill_item>();
    launch(k, k.grid(static_cast<uint32_t>(load.plan.prefill.size())), stream);
  });
  // two products of each row with half of the positions, as published figures count
  const double flops = 4.0 * sequences * heads * dim * tokens * tokens / 2;
  b.add({name,
         std::to_string(sequences) + " x " + std::to_string(tokens) + " causal, " + std::to_string(heads) +
             ":" + std::to_string(kv_heads) + " heads x 128",
         us, 0, flops});
}

}  // namespace

void bench_attention(bench& b) {
  for (const bool early : {false, true}) {  // early: with programmatic dependent launch, as engines do
    const std::string name = early ? "attention decode, early start" : "attention decode";
    if (!b.wanted(name)) continue;
    for (const uint32_t tokens : {512, 2048})
      for (const uint32_t kv_heads : {32, 8}) decode(b, name, 32, tokens, 32, kv_heads, early);
    decode(b, name, 1, 2048, 32, 32, early);
    decode(b, name, 1, 32768, 32, 8, early);
  }
  if (b.wanted("attention prefill"))
    for (const uint32_t sequences : {1, 4}) {
      if (runs_sm90_code())
        prefill<warpgroup_prefill_kernel<number, dim>>(b, "attention prefill", sequences, 2048, 32, 32);
      prefill<paged_prefill_kernel<number, dim>>(b, "attention prefill, by warps", sequences, 2048, 32, 32);
    }
}

}  // namespace troupe::cuda

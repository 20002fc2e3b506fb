// Benchmark of the LoRA kernel in a decode step: one row per request, by popularity of the adapters.
#include <algorithm>
#include <span>

#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/launch.cuh"
#include "gpu/kernels/cuda/lora_kernel.hpp"

namespace troupe::cuda {

namespace {

struct lora_shape {
  uint32_t in = 4096;
  std::vector<uint32_t> outs{4096};  // projections that share x
  uint32_t rank = 16, batch = 1;
  const char* popularity = "distinct";
};

/// Rows per adapter for Punica's popularity distributions.
std::vector<uint32_t> segments(const std::string& popularity, uint32_t batch) {
  if (popularity == "identical") return {batch};
  std::vector<uint32_t> rows;
  uint32_t left = batch;
  if (popularity == "distinct") rows.assign(batch, 1);
  if (popularity == "uniform") {  // square root of the batch: as many adapters as rows per adapter
    uint32_t each = 1;
    while (each * each < batch) ++each;
    for (; left > 0; left -= rows.back()) rows.push_back(std::min(each, left));
  }
  if (popularity == "skewed") {  // each 1.5 times as popular as the next: a third of the rest
    for (; left > 0; left -= rows.back()) rows.push_back(std::max(1U, left / 3));
  }
  return rows;
}

std::string text(const lora_shape& s) {
  std::string outs;
  for (const uint32_t out : s.outs) outs += (outs.empty() ? "" : "+") + std::to_string(out);
  return "r" + std::to_string(s.rank) + " " + std::to_string(s.in) + "->" + outs + " " + s.popularity + " " +
         std::to_string(s.batch);
}

template <lora_stage Stage>
void bench_shape(bench& b, const std::string& op, const lora_shape& s, bool early) {
  constexpr element E = element::f16;  // the type of the published figures
  const std::vector<uint32_t> rows = segments(s.popularity, s.batch);
  const auto adapters = static_cast<uint32_t>(rows.size()), count = static_cast<uint32_t>(s.outs.size());
  double a_bytes = 0, b_bytes = 0;
  std::vector<size_t> offset_a, offset_b;
  size_t size = 0;
  for (const uint32_t out : s.outs) {
    offset_a.push_back(size), size += packed_a_bytes(s.rank, s.in);
    offset_b.push_back(size), size += packed_b_bytes(s.rank, out);
    a_bytes += 2.0 * s.rank * s.in, b_bytes += 2.0 * s.rank * out;
  }
  const double bytes =
      adapters * ((Stage == lora_stage::expand ? 0 : a_bytes) + (Stage == lora_stage::shrink ? 0 : b_bytes));
  const uint32_t sets = bench::cold_sets(bytes);
  device_memory pool(size * adapters * sets);
  b.fill(pool.data(), pool.size() / 2, E, 0.05F);
  std::vector<lora_matrices> matrices;  // [sets, adapters, projections]
  for (uint32_t i = 0; i < sets * adapters; ++i)
    for (uint32_t p = 0; p < count; ++p)
      matrices.push_back({pool.data() + i * size + offset_a[p], pool.data() + i * size + offset_b[p],
                          lora_ranks(s.rank), 0.5F});
  std::vector<uint32_t> end{0}, slots;
  for (const uint32_t n : rows)
    end.push_back(end.back() + n), slots.push_back(static_cast<uint32_t>(slots.size()));
  std::vector<lora_tile> tiles;
  cut_lora_tiles(end, slots, lora_tile_rows(s.batch), tiles);
  tiles.resize(s.batch);  // as in a captured step: a grid for one tile per row
  const device_memory table = on_device(matrices), tile_table = on_device(tiles);
  const device_memory x(size_t{s.batch} * s.in * 2), v = zeros_on_device(size_t{s.batch} * 256 * 4 * count);
  std::vector<device_memory> y;
  for (const uint32_t out : s.outs) y.emplace_back(size_t{s.batch} * out * 2);
  b.fill(x.data(), x.size() / 2, E, 1);
  for (const device_memory& one : y) b.fill(one.data(), one.size() / 2, E, 1);

  lora_kernel<E, 8, Stage> kernel;
  kernel.tiles = tile_table.as<lora_tile>();
  kernel.adapter_stride = count;
  kernel.x = x.data(), kernel.x_stride = kernel.in = s.in;
  kernel.v_stride = 256, kernel.max_ranks = lora_ranks(s.rank), kernel.tile_rows = lora_tile_rows(s.batch);
  for (uint32_t p = 0; p < count; ++p)
    kernel.projections[p] = {s.outs[p], y[p].data(), s.outs[p], v.as<float>() + size_t{p} * s.batch * 256};
  const double us = b.time(sets, [&](cudaStream_t stream, uint32_t i) {
    kernel.adapters = table.as<lora_matrices>() + size_t{i} * adapters * count;
    launch(kernel, kernel.grid(s.batch, count), stream, early);
  });
  b.add({op, text(s), us, bytes, 0});
}

}  // namespace

void bench_lora(bench& b) {
  const auto one = [&](const std::string& op, const lora_shape& s) {
    if (op == "lora") bench_shape<lora_stage::both>(b, op, s, false);
    if (op == "lora, early start") bench_shape<lora_stage::both>(b, op, s, true);
    if (op == "lora shrink") bench_shape<lora_stage::shrink>(b, op, s, false);
    if (op == "lora expand") bench_shape<lora_stage::expand>(b, op, s, false);
  };
  for (const std::string op : {"lora", "lora, early start", "lora shrink", "lora expand"}) {
    if (!b.wanted(op)) continue;
    for (const uint32_t batch : {1, 8, 16, 32, 64}) one(op, {4096, {4096}, 16, batch, "distinct"});
    for (const char* popularity : {"uniform", "skewed", "identical"})
      one(op, {4096, {4096}, 16, 64, popularity});
    for (const uint32_t rank : {8, 32, 64, 128}) one(op, {4096, {4096}, rank, 64, "distinct"});
    for (const uint32_t batch : {1, 16, 64}) one(op, {4096, {11008}, 16, batch, "distinct"});
    one(op, {11008, {4096}, 16, 64, "distinct"});
    one(op, {4096, {4096}, 64, 64, "identical"});
  }
  for (const bool early : {false, true}) {  // early: with programmatic dependent launch, as engines do
    const auto fused = [&](const char* what, const lora_shape& s) {
      const std::string op = std::string("lora fused ") + what + (early ? ", early start" : "");
      if (b.wanted(op)) bench_shape<lora_stage::both>(b, op, s, early);
    };
    for (const uint32_t batch : {1, 32, 64}) {
      fused("q/k/v", {4096, {4096, 4096, 4096}, 16, batch, "distinct"});
      fused("gate/up", {4096, {11008, 11008}, 16, batch, "distinct"});
    }
    fused("q/k/v", {4096, {4096, 4096, 4096}, 16, 2048, "identical"});
  }
}

}  // namespace troupe::cuda

#include "tools/lab/llm_trial.hpp"

#include <algorithm>

#include "gpu/kernels/read_bandwidth.hpp"
#include "gpu/kernels/sampling.hpp"
#include "policies/llm/step_scheduler.hpp"
#include "tools/lab/random_llm.hpp"

namespace troupe::llm {
namespace {

/// An arbitrary token, different for every position.
token some_token(const decoder& d, uint32_t i) {
  return static_cast<token>(uint64_t{i} * 7919 % d.config().vocabulary);
}

void add_sequence(llm_step& s, uint32_t first, uint32_t past, uint32_t tokens_of_block) {
  const auto index = static_cast<uint32_t>(s.sequences.size());
  for (uint32_t p = first; p < past; ++p) {
    s.tokens.push_back(static_cast<token>(index + p));
    s.positions.push_back(p);
    s.row_sequence.push_back(index);
  }
  s.sequences.push_back(sequence_id{index + 1});
  for (uint32_t p = 0; p < past; p += tokens_of_block)
    s.blocks.push_back(static_cast<uint32_t>(s.blocks.size()));
  s.block_start.push_back(static_cast<uint32_t>(s.blocks.size()));
  s.sampled.push_back(s.rows() - 1);
}

llm_step empty_step() {
  llm_step s;
  s.block_start = {0}, s.segment_end = {0};
  return s;
}

}  // namespace

llm_step decode_step(uint32_t rows, uint32_t context, uint32_t tokens_of_block, bool adapters) {
  auto s = empty_step();
  for (uint32_t i = 0; i < rows; ++i) {
    add_sequence(s, context - 1, context, tokens_of_block);
    if (adapters || i + 1 == rows) {
      s.segment_end.push_back(i + 1);
      s.segment_adapters.push_back(adapters ? adapter_id{i + 1} : base_model);
    }
  }
  return s;
}

llm_step prefill_step(uint32_t tokens, uint32_t tokens_of_block) {
  auto s = empty_step();
  add_sequence(s, 0, tokens, tokens_of_block);
  s.segment_end.push_back(tokens);
  s.segment_adapters.push_back(base_model);
  return s;
}

uint64_t bytes_of_step(const decoder& d, const llm_step& step) {
  const auto& c = d.config();
  uint64_t cached = 0;  // positions; rows of one sequence read them together
  for (size_t i = 0; i < step.sampled.size(); ++i) cached += step.positions[step.sampled[i]] + 1;
  return passed_parameters(c) * element_bytes(d.options().weights) +
         cached * c.layers * 2 * c.kv_width() * element_bytes(d.options().kv);
}

double flops_of_step(const decoder& d, const llm_step& step) {
  const auto& c = d.config();
  const double head = static_cast<double>(c.vocabulary) * c.hidden;
  const double layers = static_cast<double>(passed_parameters(c)) - head;
  double seen = 0;
  for (const auto p : step.positions) seen += p + 1.0;
  return 2 * layers * step.rows() + 2 * head * static_cast<double>(step.sampled.size()) +
         4 * seen * c.q_width() * c.layers;
}

step_time step_timer::run(const llm_step& step) {
  const uint32_t vocabulary = decoder_.config().vocabulary;
  step_time t;
  logits_.resize(step.sampled.size() * vocabulary);
  decoder_.time_kernels(&clock_, &t.kernels);
  const auto start = clock_.now();
  decoder_.run(step, 0, decoder_.config().layers + 1, x_);
  decoder_.head(x_, step.sampled, logits_);
  for (size_t i = 0; i < step.sampled.size(); ++i)
    kernels::sampling({.logits = logits_.data() + i * vocabulary,
                       .vocabulary = vocabulary,
                       .parameters = {.temperature = 0},
                       .counts = nullptr,
                       .count_entries = 0,
                       .biases = nullptr,
                       .bias_entries = 0,
                       .position = 0,
                       .top = nullptr,
                       .top_entries = 0});
  t.all = clock_.now() - start;
  decoder_.time_kernels(nullptr, nullptr);
  return t;
}

host_work measure_host_work(uint32_t rows, uint32_t layers, uint32_t context, double seconds) {
  constexpr uint32_t min_steps = 100, max_steps = 2000, block_tokens = 16, chunk = 512;
  const machine_clock c;
  const auto config = random_config(
      {.layers = layers, .hidden = 32, .heads = 2, .kv_heads = 1, .intermediate = 32, .vocabulary = 64},
      context + max_steps);
  const uint32_t blocks = rows * ((context + max_steps) / block_tokens + 1);
  decoder d(config, {.weights = element::bf16, .kv = element::bf16, .blocks = blocks});
  for (uint32_t l = 0; l < layers + 2; ++l) d.load(l, random_layer(config, l, element::bf16, 1));
  step_scheduler scheduler(
      {.max_sequences = rows, .prefill_chunk = chunk, .blocks = blocks, .block_tokens = block_tokens});
  for (uint32_t i = 0; i < rows; ++i) {
    const adapter_id own{i + 1};
    d.load(own, random_adapter(config, 1, element::bf16, i));
    scheduler.adapter_loaded(own);
    std::vector<token> prompt(context);
    for (uint32_t j = 0; j < context; ++j) prompt[j] = some_token(d, i + j);
    scheduler.add({sequence_id{i + 1}, std::move(prompt), max_steps, own});
  }

  constexpr int readings = 10'000;
  const auto before = c.now();
  for (int i = 0; i < readings; ++i) c.now();
  const auto a_reading = (c.now() - before) / readings;

  activation x;
  std::vector<float> logits;
  std::vector<sampled_token> chosen;
  struct parts {
    duration plan{}, decoder{}, done{}, all{};
  };
  const auto step = [&] {
    parts p;
    kernel_times in_kernels;
    d.time_kernels(&c, &in_kernels);
    const auto start = c.now();
    const auto& s = scheduler.plan();
    const auto planned = c.now();
    logits.resize(s.sampled.size() * config.vocabulary);
    d.run(s, 0, layers + 1, x);
    d.head(x, s.sampled, logits);
    const auto ran = c.now();
    chosen.clear();
    for (const auto row : s.sampled)  // instead of sampling, which is a kernel
      chosen.push_back({s.sequences[s.row_sequence[row]], some_token(d, row), false});
    const auto decided = c.now();
    scheduler.done(chosen);
    p.plan = planned - start, p.done = c.now() - decided;
    p.decoder = ran - planned - in_kernels.sum() - in_kernels.launches * a_reading;
    p.all = p.plan + p.decoder + p.done;
    return p;
  };
  const uint32_t prefills = rows * ((context + chunk - 1) / chunk);
  for (uint32_t i = 0; i <= prefills; ++i) step();
  const kernels::read_bandwidth other_work(size_t{128} << 20);
  std::vector<parts> times;
  const auto begin = c.now();
  while (times.size() + prefills + 2 < max_steps &&
         (times.size() < min_steps || to_seconds(c.now() - begin) < seconds)) {
    other_work.measure(c, size_t{128} << 20);
    times.push_back(step());
  }
  const auto quantile = [&](duration parts::*part, size_t of_100) {
    std::ranges::sort(times, {}, part);
    return times[times.size() * of_100 / 100].*part;
  };
  return {quantile(&parts::all, 50),     quantile(&parts::all, 99),  quantile(&parts::plan, 50),
          quantile(&parts::decoder, 50), quantile(&parts::done, 50), static_cast<uint32_t>(times.size())};
}

}  // namespace troupe::llm

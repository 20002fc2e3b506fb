#include "tools/lab/latency_measure.hpp"

#include <algorithm>
#include <functional>

#include "tools/lab/llm_trial.hpp"
#include "tools/lab/lora_operator.hpp"
#include "tools/lab/random_llm.hpp"
#include "tools/lab/sample_statistics.hpp"
#include "tools/lab/step_probe.hpp"

namespace troupe::lab {
namespace {

duration median_time(const clock& c, bool quick, const std::function<void()>& run) {
  constexpr duration budget = 500ms;
  constexpr size_t fewest = 5;
  run();
  std::vector<duration> times;
  const auto end = c.now() + budget;
  while (times.size() < fewest || (!quick && c.now() < end)) {
    const auto start = c.now();
    run();
    times.push_back(c.now() - start);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

duration time_of_step(const clock& c, const latency_setup& l, bool prefill, bool quick) {
  constexpr uint32_t block_tokens = 16;
  constexpr llm::llm_shape shape{
      .layers = 4, .hidden = 1024, .heads = 16, .kv_heads = 16, .intermediate = 2816, .vocabulary = 4096};
  const auto config = llm::random_config(shape, l.context);
  const auto blocks = l.batch * ((l.context + block_tokens - 1) / block_tokens);
  llm::decoder d(config, {element::bf16, element::bf16, blocks, block_tokens});
  for (uint32_t i = 0; i < shape.layers + 2; ++i) d.load(i, llm::random_layer(config, i, element::bf16, 1));
  std::ranges::fill(d.blocks().bytes, std::byte{0x3c});
  const probed_step asked{
      std::vector<probed_step::sequence>(l.batch, {prefill ? 0 : l.context - 1, l.context}), 0};
  const auto step = step_of(asked, block_tokens);
  llm::step_timer timer(d, c);
  return median_time(c, quick, [&] { timer.run(step); });
}

}  // namespace

sample measure_step_latency(const scenario& s, std::string_view policy, bool quick) {
  const machine_clock time;
  const auto& l = *s.latency;
  duration took;
  if (policy == "decode" || policy == "prefill") {
    took = time_of_step(time, l, policy == "prefill", quick);
  } else {
    const auto how = policy == "sgmv"   ? lora_operator::method::sgmv
                     : policy == "loop" ? lora_operator::method::loop
                                        : lora_operator::method::gather_bmm;
    lora_operator op(l, quick ? size_t{16} << 20 : size_t{256} << 20);
    took = median_time(time, quick, [&] { op.run(how); });
  }
  sample out;
  out.value = to_ms(took) * 1000;
  return out;
}

void summarise_latencies(const std::vector<sample>& samples, point& out) {
  std::vector<double> values;
  for (const auto& s : samples) values.push_back(s.value);
  std::ranges::sort(values);
  out.metrics["latency_us"] = quantile(values, 0.5);
}

}  // namespace troupe::lab

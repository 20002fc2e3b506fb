#include "gpu/llm/expert_layer.hpp"

#include <algorithm>

#include "gpu/kernels/expert_rows.hpp"
#include "gpu/kernels/silu_mul.hpp"

namespace troupe::llm {

void expert_computation::run(const expert_layer& layer, const model_config& config, const float* x,
                             size_t rows, float* y, const kernel_timer& timer) {
  const size_t hidden = config.hidden, width = config.intermediate;
  logits_.resize(rows * config.experts.count);
  timer.launch(&kernel_times::projections, kernels::dense, layer.router.args(x, logits_.data(), rows));
  timer.timed(&kernel_times::others, [&] {
    routes_.make(logits_.data(), rows, config.experts.count, config.experts.per_token,
                 config.experts.normalised);
    std::fill_n(y, rows * hidden, 0.0F);
  });
  for (uint32_t e = 0; e < config.experts.count; ++e) {
    const auto which = routes_.rows_of(e);
    const size_t n = which.size();
    if (n == 0) continue;
    const auto& expert = layer.experts[e];
    gathered_.resize(n * hidden);
    gate_up_.resize(n * 2 * width);
    gated_.resize(n * width);
    output_.resize(n * hidden);
    timer.launch(&kernel_times::others, kernels::gather_rows,
                 {.x = x, .width = hidden, .which = which.data(), .rows = n, .out = gathered_.data()});
    timer.launch(&kernel_times::projections, kernels::dense,
                 expert.gate_up.args(gathered_.data(), gate_up_.data(), n));
    timer.launch(&kernel_times::others, kernels::silu_mul,
                 {.gate = gate_up_.data(),
                  .up = gate_up_.data() + width,
                  .gate_stride = 2 * width,
                  .up_stride = 2 * width,
                  .out = gated_.data(),
                  .out_stride = width,
                  .rows = n,
                  .width = width});
    timer.launch(&kernel_times::projections, kernels::dense,
                 expert.down.args(gated_.data(), output_.data(), n));
    timer.launch(&kernel_times::others, kernels::add_rows,
                 {.x = output_.data(),
                  .width = hidden,
                  .which = which.data(),
                  .weight = routes_.weights_of(e).data(),
                  .rows = n,
                  .sum = y});
  }
}

}  // namespace troupe::llm

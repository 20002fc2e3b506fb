#include "tools/commands/profile_model.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/device/profile.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {

namespace {

constexpr duration time_a_batch_size = 200ms;

std::vector<latency_sample> measure(batch_model& m, uint32_t max_batch) {
  const uint64_t in_row = input_row_bytes(m.signature()), out_row = output_row_bytes(m.signature());
  const std::vector<std::byte> input(max_batch * in_row);
  std::vector<std::byte> output(max_batch * out_row);
  const machine_clock clock;
  return measure_latency(clock, profiled_batch_sizes(max_batch), time_a_batch_size, [&](uint32_t rows) {
    const batch_part part{rows, std::span{input}.first(rows * in_row),
                          std::span{output}.first(rows * out_row)};
    m.run(rows, {&part, 1}, nullptr);
  });
}

void print_json(const profile_options& o, const std::vector<latency_sample>& samples, const latency_fit& fit,
                uint64_t memory_bytes) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& s : samples) {
    rows.push_back({{"rows", s.rows},
                    {"milliseconds", to_ms(s.latency)},
                    {"fit_milliseconds", to_ms(fit.model(s.rows))}});
  }
  const nlohmann::ordered_json document{{"model", o.model_file},
                                        {"device", o.where.device},
                                        {"alpha_ms", to_ms(fit.model.alpha)},
                                        {"beta_ms", to_ms(fit.model.beta)},
                                        {"max_relative_error", fit.max_relative_error},
                                        {"r_squared", fit.r_squared},
                                        {"memory_bytes", memory_bytes},
                                        {"samples", rows}};
  fmt::print("{}\n", document.dump(2));
}

void print_table(const profile_options& o, const std::vector<latency_sample>& samples, const latency_fit& fit,
                 uint64_t memory_bytes) {
  fmt::print("{} on {}\n{:>6} {:>12} {:>12} {:>12}\n", o.model_file, title_of(o.where), "batch", "ms",
             "fit ms", "ms/row");
  for (const auto& s : samples) {
    fmt::print("{:>6} {:>12.4f} {:>12.4f} {:>12.4f}\n", s.rows, to_ms(s.latency), to_ms(fit.model(s.rows)),
               to_ms(s.latency) / s.rows);
  }
  fmt::print("alpha {:.4f} ms, beta {:.4f} ms, largest error {:.1f} %, R² {:.4f}\n", to_ms(fit.model.alpha),
             to_ms(fit.model.beta), 100 * fit.max_relative_error, fit.r_squared);
  fmt::print("memory {:.1f} MiB\n", static_cast<double>(memory_bytes) / (1 << 20));
}

}  // namespace

int profile_model(const profile_options& options) {
  if (options.max_batch == 0) {
    report("--max-batch: must be at least 1");
    return exit_bad_input;
  }
  try {
    const auto model = one_device(options.where)(
        {.name = options.model_file, .path = options.model_file, .max_batch = options.max_batch});
    const auto samples = measure(*model, options.max_batch);
    const auto fit = fit_latency(samples);
    if (options.json)
      print_json(options, samples, fit, model->memory_bytes());
    else
      print_table(options, samples, fit, model->memory_bytes());
  } catch (const model_error& e) {
    report("{}", e.what());
    return exit_bad_input;
  } catch (const std::exception& e) {
    report("{}", e.what());
    return exit_failed;
  }
  return exit_done;
}

}  // namespace troupe

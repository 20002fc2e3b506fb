#include "tools/commands/profile_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/common/model_error.hpp"
#include "gpu/device/profile.hpp"
#include "messages/common/json_text.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/local_request.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {

namespace {

using nlohmann::ordered_json;

constexpr duration time_a_batch_size = 200ms;

std::vector<latency_sample> measure(batch_model& m, uint32_t max_batch) {
  const auto& signature = m.signature();
  const auto sizes = has_rows(signature) ? profiled_batch_sizes(max_batch) : std::vector<uint32_t>{1};
  const std::vector<std::byte> zeros(request_bytes(signature, sizes.back()));
  const machine_clock clock;
  std::optional<local_request> request;
  uint32_t made_for = 0;
  for (const auto rows : sizes) m.warm(rows);  // as a worker does, which the memory depends on
  return measure_latency(clock, sizes, time_a_batch_size, [&](uint32_t rows) {
    if (rows != std::exchange(made_for, rows))
      request.emplace(m, rows, std::span{zeros}.first(request_bytes(signature, rows)));
    request->run();
  });
}

struct measured_profile {
  std::vector<latency_sample> samples;
  latency_fit fit;
  uint64_t memory_bytes = 0;
};

/// Throws model_error if the model cannot be loaded there.
measured_profile measure(const profile_options& o, const device_choice& where) {
  const auto model =
      one_device(where)({.name = o.model_file, .path = o.model_file, .max_batch = o.max_batch});
  measured_profile p;
  p.samples = measure(*model, o.max_batch);
  p.fit = fit_latency(p.samples);
  p.memory_bytes = model->memory_bytes();
  return p;
}

ordered_json json_of(const measured_profile& p) {
  auto rows = ordered_json::array();
  for (const auto& s : p.samples) {
    rows.push_back({{"rows", s.rows},
                    {"milliseconds", to_ms(s.latency)},
                    {"fit_milliseconds", to_ms(p.fit.model(s.rows))}});
  }
  return {{"alpha_ms", to_ms(p.fit.model.alpha)},
          {"beta_ms", to_ms(p.fit.model.beta)},
          {"max_relative_error", p.fit.max_relative_error},
          {"r_squared", p.fit.r_squared},
          {"memory_bytes", p.memory_bytes},
          {"samples", rows}};
}

void print_table(const std::string& title, const measured_profile& p) {
  fmt::print("{}\n{:>6} {:>12} {:>12} {:>12}\n", title, "batch", "ms", "fit ms", "ms/row");
  const auto& line = p.fit.model;
  for (const auto& s : p.samples)
    fmt::print("{:>6} {:>12.4f} {:>12.4f} {:>12.4f}\n", s.rows, to_ms(s.latency), to_ms(line(s.rows)),
               to_ms(s.latency) / s.rows);
  fmt::print("alpha {:.4f} ms, beta {:.4f} ms, largest error {:.1f} %, R² {:.4f}\n", to_ms(line.alpha),
             to_ms(line.beta), 100 * p.fit.max_relative_error, p.fit.r_squared);
  fmt::print("memory {:.1f} MiB\n", static_cast<double>(p.memory_bytes) / (1 << 20));
}

ordered_json head_of(const profile_options& o) {
  return {{"model", o.model_file}, {"device", o.where.device}};
}

void profile_one(const profile_options& o) {
  const auto p = measure(o, o.where);
  if (!o.json) return print_table(fmt::format("{} on {}", o.model_file, title_of(o.where)), p);
  auto document = head_of(o);
  document.update(json_of(p));
  fmt::print("{}\n", json_text(document, 2));
}

/// Throws model_error if no engine runs the model.
void profile_engines(const profile_options& o) {
  if (o.where.device != "cpu" || o.where.engine != "auto")
    throw model_error("--engines: measures each engine of a cpu; remove --device and --engine");
  auto document = head_of(o);
  auto& list = document["engines"] = ordered_json::array();
  std::string problems;
  bool any = false;
  for (const auto engine : {model_engine::native, model_engine::openvino}) {
    auto where = o.where;
    where.engine = to_string(engine);
    auto& entry = list.emplace_back(ordered_json{{"engine", where.engine}});
    try {
      const auto p = measure(o, where);
      entry.update(json_of(p));
      if (!o.json) print_table(fmt::format("{} by {}", o.model_file, where.engine), p);
      any = true;
    } catch (const model_error& e) {
      entry["problem"] = e.what();
      problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", where.engine, e.what());
    }
  }
  if (!any) throw model_error(problems);
  if (o.json)
    fmt::print("{}\n", json_text(document, 2));
  else if (!problems.empty())
    fmt::print("{}\n", problems);
}

}  // namespace

int profile_model(const profile_options& options) {
  if (options.max_batch == 0) {
    report("--max-batch: must be at least 1");
    return exit_bad_input;
  }
  try {
    options.engines ? profile_engines(options) : profile_one(options);
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

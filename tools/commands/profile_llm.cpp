#include "tools/commands/profile_llm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "config/step_profile_file.hpp"
#include "gpu/checkpoint/model_config.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/llm/cpu_engine_device.hpp"
#include "messages/common/json_text.hpp"
#include "tools/common/element_name.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/common/token_blocks.hpp"
#include "tools/lab/step_probe.hpp"

namespace troupe {
namespace {

/// Signals that the device has an event.
class bell {
 public:
  void ring() {
    std::lock_guard lock(mutex_);
    rung_ = true;
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

struct measured {
  std::vector<step_sample> samples;
  llm::llm_profile profile;
  step_fit fit;
};

measured measure(const profile_llm_options& o) {
  const auto config = llm::read_model_config(o.model);
  probe_limits limits;
  limits.max_batch = o.max_batch;
  limits.max_context = std::min(o.max_context, config.max_positions);
  limits.prefill_chunk = o.prefill_chunk;
  limits.adapters = o.adapter.empty() ? 0 : o.max_batch;
  limits.block_tokens = tokens_a_block;
  const machine_clock time;
  bell news;
  llm::cpu_engine_options device;
  device.folder = o.model;
  device.weights = device.kv = element_of_dtype(o.dtype);
  device.kv_bytes = uint64_t{o.kv_mb} << 20;
  device.block_tokens = tokens_a_block;
  device.threads = static_cast<int>(o.threads);
  device.adapter_slots = limits.adapters;
  device.adapter_bytes = UINT64_MAX;
  llm::cpu_engine_device cpu(
      time, [&news] { news.ring(); }, device);
  step_probe probe(cpu, time, [&news](time_point) { news.wait(); });
  const auto facts = probe.load();
  probe.fill_cache();
  limits.kv_tokens = uint64_t{facts.blocks} * facts.block_tokens;
  measured out;
  out.profile.kv_token_bytes = facts.block_bytes / facts.block_tokens;
  out.profile.adapter_load = probe.load_adapters(limits.adapters, o.adapter);
  out.samples = probe.measure(steps_to_probe(limits), from_ms(1000 * o.seconds));
  cpu.stop();
  out.fit = fit_steps(out.samples);
  out.profile.step = out.fit.latency;
  return out;
}

void print_table(const profile_llm_options& o, const measured& m) {
  fmt::print("{}, {}, {} thread{}\n", o.model, o.dtype, o.threads, o.threads == 1 ? "" : "s");
  fmt::print("{:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>10} {:>10} {:>8}\n", "prompt", "context", "decodes",
             "context", "longest", "adapters", "ms", "fit ms", "error");
  for (const auto& s : m.samples) {
    const auto& x = s.shape;
    fmt::print("{:>8} {:>8} {:>8} {:>9} {:>9} {:>8} {:>10.4f} {:>10.4f} {:>6.1f} %{}\n", x.prefill_tokens,
               x.prefill_context, x.decodes, x.decode_context, x.longest_context, x.adapters, to_ms(s.took),
               to_ms(m.fit.latency(x)), 100 * relative_error(m.fit.latency, s),
               s.held_out ? "  held out" : "");
  }
  fmt::print("\n{}\n", step_profile_text(m.profile, fmt::format("{}, {}", o.model, o.dtype)));
  fmt::print("error of the fit: mean {:.1f} %, largest {:.1f} %; on held-out steps: {:.1f} %, {:.1f} %\n",
             100 * m.fit.fitted.mean, 100 * m.fit.fitted.largest, 100 * m.fit.held_out.mean,
             100 * m.fit.held_out.largest);
}

nlohmann::ordered_json document(const profile_llm_options& o, const measured& m) {
  auto steps = nlohmann::ordered_json::array();
  for (const auto& s : m.samples)
    steps.push_back({{"prefill_tokens", s.shape.prefill_tokens},
                     {"prefill_context", s.shape.prefill_context},
                     {"decodes", s.shape.decodes},
                     {"decode_context", s.shape.decode_context},
                     {"longest_context", s.shape.longest_context},
                     {"adapter_rows", s.shape.adapter_rows},
                     {"adapters", s.shape.adapters},
                     {"milliseconds", to_ms(s.took)},
                     {"fit_milliseconds", to_ms(m.fit.latency(s.shape))},
                     {"held_out", s.held_out}});
  const auto error = [](const step_error& e) {
    return nlohmann::ordered_json{{"mean", e.mean}, {"largest", e.largest}};
  };
  const auto& t = m.profile.step;
  return {{"model", o.model},
          {"dtype", o.dtype},
          {"threads", o.threads},
          {"steps", steps},
          {"profile",
           {{"fixed_us", t.fixed.count() / 1e3},
            {"prefill_token_us", t.prefill_token.count() / 1e3},
            {"prefill_context_ns", t.prefill_context.count()},
            {"decode_us", t.decode.count() / 1e3},
            {"decode_context_ns", t.decode_context.count()},
            {"longest_context_ns", t.longest_context.count()},
            {"adapter_row_us", t.adapter_row.count() / 1e3},
            {"adapter_us", t.adapter.count() / 1e3},
            {"kv_token_bytes", m.profile.kv_token_bytes},
            {"adapter_load_ms", to_ms(m.profile.adapter_load)}}},
          {"error", error(m.fit.fitted)},
          {"held_out_error", error(m.fit.held_out)}};
}

bool write(const profile_llm_options& o, const measured& m) {
  std::ofstream file(o.output);
  file << step_profile_text(
      m.profile, fmt::format("{} in {} on {} thread{} of a CPU, measured by: troupe profile --model\n"
                             "Error of the fit: mean {:.1f} %, largest {:.1f} %.",
                             o.model, o.dtype, o.threads, o.threads == 1 ? "" : "s", 100 * m.fit.fitted.mean,
                             100 * m.fit.fitted.largest));
  file.flush();
  if (!file) report("{}: cannot be written", o.output);
  return file.good();
}

}  // namespace

int profile_llm(const profile_llm_options& options) {
  try {
    const auto m = measure(options);
    if (options.json)
      fmt::print("{}\n", json_text(document(options, m), 2));
    else
      print_table(options, m);
    return options.output.empty() || write(options, m) ? exit_done : exit_failed;
  } catch (const model_error& e) {
    report("{}", e.what());
  } catch (const request_refused& e) {
    report("profile: {}", e.what());
  }
  return exit_bad_input;
}

}  // namespace troupe

#include "tools/bench/llm.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/device/peak_flops.hpp"
#include "gpu/kernels/read_bandwidth.hpp"
#include "tools/bench/row.hpp"
#include "tools/common/element_name.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/common/token_blocks.hpp"
#include "tools/lab/llm_trial.hpp"

namespace troupe {
namespace {

using namespace llm;

constexpr int fewest_rounds = 3;
constexpr duration time_of_gemm = 50ms;
constexpr double host_us_allowed_at_32 = 50, host_us_allowed_at_256 = 200;

/// CPU time of the calling thread: independent of other users of its core.
class thread_clock final : public clock {
 public:
  time_point now() const override {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return time_point{std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec}};
  }
};

/// Steps of one kind, measured in turns with their reference.
struct measured_step {
  step_time best;
  double spread = 1;  ///< the median over the best
};
class step_samples {
 public:
  void add(const step_time& t) { samples_.push_back(t); }
  measured_step result() {
    std::ranges::sort(samples_, {}, &step_time::all);
    const auto& best = samples_.front();
    return {best, to_seconds(samples_[samples_.size() / 2].all) / to_seconds(best.all)};
  }

 private:
  std::vector<step_time> samples_;
};

class bench {
 public:
  bench(const bench_llm_options& o, const clock& c)
      : o_(o),
        clock_(c),
        type_(element_called(o.type).value_or(element::bf16)),
        max_rows_(std::max(o.adapters, std::ranges::max(o.batches))),
        decoder_(
            random_config(o.shape, o.context),
            {type_, type_, max_rows_ * ((o.context + tokens_a_block - 1) / tokens_a_block), tokens_a_block}),
        timer_(decoder_, clock_) {
    for (uint32_t l = 0; l < o.shape.layers + 2; ++l)
      decoder_.load(l, random_layer(decoder_.config(), l, type_, 1));
    // keys and values of sequences without a prefill: small numbers
    const auto cache = decoder_.blocks().bytes;
    for (size_t i = 0; i < cache.size() / element_bytes(type_); ++i)
      set_element(cache.data(), type_, i, static_cast<float>(i % 17) / 64);
  }

  void run() {
    for (const auto batch : o_.batches) decode(batch);
    prefill();
    if (o_.adapters > 0) adapters();
    host(32, host_us_allowed_at_32);
    host(256, host_us_allowed_at_256);
  }

  nlohmann::ordered_json document() const {
    const auto& s = o_.shape;
    return {{"parameters", passed_parameters(decoder_.config())},
            {"layers", s.layers},
            {"hidden", s.hidden},
            {"type", o_.type},
            {"threads", omp_get_max_threads()},
            {"cpu_time", o_.cpu_time},
            {"context", o_.context},
            {"read_bandwidth_bytes_per_s", bandwidth_},
            {"gemm_flop_per_s", gemm_},
            {"rows", rows_json(rows_)}};
  }

  /// Prints the references below the rows.
  void print_limits() const {
    fmt::print(
        "\n{:.2f} billion parameters, {}, {} thread{}, {} tokens of context; memory was read at up to {:.1f} "
        "GB/s, a large f32 matrix product ran at {:.0f} GFLOP/s\n",
        static_cast<double>(passed_parameters(decoder_.config())) / 1e9, o_.type, omp_get_max_threads(),
        omp_get_max_threads() == 1 ? "" : "s", o_.context, bandwidth_ / 1e9, gemm_ / 1e9);
  }

 private:
  /// Calls `round` until the time is over.
  template <class Round>
  void in_turns(Round round) {
    const auto begin = clock_.now();
    for (int i = 0; i < fewest_rounds || to_seconds(clock_.now() - begin) < o_.seconds; ++i) round();
  }

  void add(bench_row r) {
    if (!o_.json) {
      if (rows_.empty())
        fmt::print("{:<36} {:>9} {:>9} {:>9} {:>6}\n", "", "value", "unit", "reference", "ratio");
      fmt::print("{:<36} {:>9.1f} {:>9} {:>9.1f} {:>6.3f} ", r.name, r.value, r.unit, *r.reference,
                 r.ratio());
      for (const auto& [key, value] : r.more.items()) fmt::print(" {} {:.3g}", key, value.get<double>());
      fmt::print("\n");
      std::fflush(stdout);
    }
    rows_.push_back(std::move(r));
  }

  void against_limits(const std::string& name, const llm_step& step) {
    const auto bytes = static_cast<double>(bytes_of_step(decoder_, step));
    const double flops = flops_of_step(decoder_, step);
    double bandwidth = 0, gemm = 0;
    step_samples samples;
    timer_.run(step);
    in_turns([&] {
      samples.add(timer_.run(step));
      bandwidth = std::max(bandwidth, memory_.measure(clock_, static_cast<size_t>(bytes)));
      gemm = std::max(gemm, measure_peak_flops(clock_, time_of_gemm));
    });
    bandwidth_ = std::max(bandwidth_, bandwidth), gemm_ = std::max(gemm_, gemm);
    const auto m = samples.result();
    const double tokens = step.rows(), s = to_seconds(m.best.all);
    const auto part = [&](duration d) { return to_seconds(d) / s; };
    const auto& k = m.best.kernels;
    add({name,
         tokens / s,
         "tokens/s",
         tokens / std::max(bytes / bandwidth, flops / gemm),
         {{"of_bandwidth", bytes / s / bandwidth},
          {"of_gemm", flops / s / gemm},
          {"gigabytes", bytes / 1e9},
          {"spread", m.spread},
          {"projections", part(k.projections)},
          {"attention", part(k.attention)},
          {"others", part(k.others)}}});
  }

  void decode(uint32_t batch) {
    against_limits(fmt::format("decode, batch {}", batch),
                   decode_step(batch, o_.context, tokens_a_block, false));
  }
  void prefill() {
    against_limits(fmt::format("prefill, {} tokens", o_.context), prefill_step(o_.context, tokens_a_block));
  }

  void adapters() {
    for (uint32_t i = 1; i <= o_.adapters; ++i)
      decoder_.load(adapter_id{i}, random_adapter(decoder_.config(), o_.rank, type_, i));
    const auto with = decode_step(o_.adapters, o_.context, tokens_a_block, true);
    const auto without = decode_step(o_.adapters, o_.context, tokens_a_block, false);
    step_samples all, base;
    timer_.run(with);
    in_turns([&] {
      all.add(timer_.run(with));
      base.add(timer_.run(without));
    });
    const auto a = all.result(), b = base.result();
    const double s = to_seconds(a.best.all);
    add({fmt::format("decode, {} adapters of rank {}", o_.adapters, o_.rank),
         o_.adapters / s,
         "tokens/s",
         o_.adapters / to_seconds(b.best.all),
         {{"gigabytes", static_cast<double>(decoder_.adapter_bytes()) / 1e9},
          {"spread", a.spread},
          {"spread_without", b.spread},
          {"adapters", to_seconds(a.best.kernels.adapters) / s}}});
  }

  void host(uint32_t rows, double allowed_us) {
    const auto h = measure_host_work(rows, o_.shape.layers, o_.context, o_.seconds);
    add({fmt::format("host work of a step, batch {}", rows),
         to_ms(h.median) * 1e3,
         "us",
         allowed_us,
         {{"p99_us", to_ms(h.p99) * 1e3},
          {"plan_us", to_ms(h.plan) * 1e3},
          {"decoder_us", to_ms(h.decoder) * 1e3},
          {"done_us", to_ms(h.done) * 1e3},
          {"steps", h.steps}}});
  }

  const bench_llm_options& o_;
  const clock& clock_;
  const element type_;
  const uint32_t max_rows_;
  const kernels::read_bandwidth memory_;
  decoder decoder_;
  step_timer timer_;
  double bandwidth_ = 0, gemm_ = 0;  // the best of the whole run
  std::vector<bench_row> rows_;
};

}  // namespace

int bench_llm(const bench_llm_options& options) {
  if (options.cpu_time && options.threads != 1) {
    report("bench llm: --cpu-time measures one thread: give --threads 1 too");
    return exit_bad_input;
  }
  std::unique_ptr<const clock> time = std::make_unique<machine_clock>();
  if (options.cpu_time) time = std::make_unique<thread_clock>();
  if (options.threads > 0) omp_set_num_threads(static_cast<int>(options.threads));
  try {
    bench b(options, *time);
    b.run();
    if (options.json)
      fmt::print("{}\n", b.document().dump(2));
    else
      b.print_limits();
    return exit_done;
  } catch (const model_error& e) {
    report("bench llm: {}", e.what());
  } catch (const request_refused& e) {
    report("bench llm: {}", e.what());
  } catch (const std::bad_alloc&) {
    report("bench llm: a model of that size does not fit into memory");
  }
  return exit_bad_input;
}

}  // namespace troupe

#include "tools/load/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "messages/common/json_text.hpp"
#include "tools/client/http_key.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/load/client.hpp"
#include "tools/load/completion_sender.hpp"
#include "tools/load/replay_statistics.hpp"

namespace troupe {
namespace {

duration stretched(duration d, double by) {
  return duration{std::llround(static_cast<double>(d.count()) * by)};
}

}  // namespace

std::vector<traced_generation> scaled(std::vector<traced_generation> rows, const replay_options& o) {
  std::vector<traced_generation> out;
  random_stream random(o.seed, "replay");
  const auto last = rows.empty() ? duration{} : rows.back().at;
  for (size_t i = 0; i < rows.size(); ++i) {
    auto& row = rows[i];
    if (row.at < o.from || row.at - o.from >= o.length) continue;
    const auto gap = (i + 1 < rows.size() ? rows[i + 1].at : last) - row.at;
    row.prompt_tokens = std::min(row.prompt_tokens, o.max_prompt);
    row.output_tokens = std::min(row.output_tokens, o.max_output);
    // copies are spread between this one and the next
    auto copies = static_cast<uint64_t>(o.rate_scale);
    copies += random.uniform() < o.rate_scale - static_cast<double>(copies);
    for (uint64_t k = 0; k < copies && out.size() < o.requests; ++k) {
      auto& sent = out.emplace_back(row);
      sent.at =
          stretched(row.at - o.from + (k == 0 ? duration{} : stretched(gap, random.uniform())), o.time_scale);
    }
  }
  std::ranges::stable_sort(out, {}, &traced_generation::at);
  return out;
}

std::vector<traced_generation> rows_to_send(llm_trace& trace, const replay_options& o) {
  constexpr double longest_s = 10 * 365 * 86'400.0, max_intervals = 1e6;
  const double seconds = trace.rows.empty() ? 0 : to_seconds(trace.rows.back().at) * o.time_scale;
  if (seconds > longest_s || seconds / to_seconds(o.interval) > max_intervals)
    throw load_input_error(
        fmt::format("the replay would be {:.0f} s long, in intervals of {:g} s; at most ten years and a "
                    "million intervals are allowed: change --time-scale or --interval",
                    seconds, to_seconds(o.interval)));
  auto due = scaled(std::move(trace.rows), o);
  if (due.empty()) throw llm_trace_error(o.file + ": has no requests in the selected part");
  if (o.model.empty() && std::ranges::any_of(due, [](const auto& r) { return r.adapter.empty(); }))
    throw load_input_error("the trace has requests without an adapter: give a --model for them");
  return due;
}

std::string replay_body(const traced_generation& row, uint64_t index, const replay_options& o) {
  nlohmann::ordered_json j{{"model", row.adapter.empty() ? o.model : row.adapter},
                           {"prompt", nlohmann::ordered_json::array()},
                           {"max_tokens", row.output_tokens},
                           {"ignore_eos", true},
                           {"stream", true},
                           {"stream_options", {{"include_usage", true}}}};
  auto& prompt = j["prompt"];
  for (uint32_t begin = 0, block = 0; begin < row.prompt_tokens; begin += trace_block_tokens, ++block) {
    const bool named = block < row.blocks.size();
    random_stream content(named ? row.blocks[block] : o.seed + index, named ? "block" : "prompt",
                          named ? 0 : block);
    const auto end = std::min(row.prompt_tokens, begin + trace_block_tokens);
    for (auto i = begin; i < end; ++i) prompt.push_back(content.below(o.token_bound));
  }
  if (row.slo) j["ttft_ms"] = to_ms(*row.slo);
  if (row.priority != 0) j["priority"] = row.priority;
  return json_text(j);
}

replay_report replay(const replay_options& o) {
  auto trace = read_llm_trace_file(o.file);
  const auto rows = trace.rows.size();
  const auto due = rows_to_send(trace, o);
  const auto usual = with_api_key({}, o.key_file);
  std::map<std::string, http_headers> of_tenants;
  for (const auto& [tenant, file] : o.tenant_keys) of_tenants[tenant] = with_api_key({}, file);
  const machine_clock time;
  replay_statistics kept(o, time.now() + 100ms);
  {
    completion_sender sender({o.url, {}, o.max_connections, o.timeout}, [&](const completion_end& e) {
      kept.ended(e.model, e.times, e.error, time.now());
    });
    for (size_t i = 0; i < due.size(); ++i) {
      auto body = replay_body(due[i], i, o);
      const auto at = kept.start() + due[i].at;
      std::this_thread::sleep_for(at - time.now());
      kept.sent(at, time.now());
      const auto key = of_tenants.find(due[i].tenant);
      sender.send({due[i].adapter.empty() ? o.model : due[i].adapter, std::move(body),
                   key == of_tenants.end() ? usual : key->second, due[i].slo},
                  at);
    }
  }
  return kept.close(trace, rows);
}

std::string replay_json(const replay_report& r) {
  auto j = nlohmann::ordered_json::parse(completion_json(r.all));
  j["trace"] = {{"format", r.format}, {"requests", r.rows}, {"without_answer", r.without_answer}};
  j["interval_s"] = to_seconds(r.interval);
  auto& series = j["series"] = nlohmann::ordered_json::array();
  for (const auto& i : r.series)
    series.push_back({{"sent", i.sent},
                      {"completed", i.completed},
                      {"failed", i.failed},
                      {"good", i.good},
                      {"in_flight", i.in_flight},
                      {"tokens", i.tokens},
                      {"ttft_p50_ms", to_ms(i.ttft.quantile(0.5))},
                      {"ttft_p99_ms", to_ms(i.ttft.quantile(0.99))}});
  return json_text(j, 2);
}

std::string replay_csv(const replay_report& r) {
  std::string out = "second,sent,completed,failed,good,in_flight,tokens,ttft_p50_ms,ttft_p99_ms\n";
  for (size_t k = 0; k < r.series.size(); ++k) {
    const auto& i = r.series[k];
    out += fmt::format("{:.3f},{},{},{},{},{},{},{:.3f},{:.3f}\n",
                       static_cast<double>(k) * to_seconds(r.interval), i.sent, i.completed, i.failed, i.good,
                       i.in_flight, i.tokens, to_ms(i.ttft.quantile(0.5)), to_ms(i.ttft.quantile(0.99)));
  }
  return out;
}

int run_replay(const replay_options& o) {
  const auto write = [](const std::string& file, const std::string& text) {
    if (file.empty()) return;
    std::ofstream out(file, std::ios::binary);
    if (!(out << text)) throw load_error(file + ": cannot be written");
  };
  try {
    const auto r = o.simulate.empty() ? replay(o) : replay_simulated(o);
    if (!o.json_file.empty()) write(o.json_file, replay_json(r) + "\n");
    write(o.csv_file, replay_csv(r));
    if (o.json)
      fmt::print("{}\n", replay_json(r));
    else
      fmt::print("{} trace of {} requests{}\n{}", r.format, r.rows,
                 r.without_answer > 0 ? fmt::format(", and {} without an answer", r.without_answer) : "",
                 completion_table(r.all));
    return r.all.completed > 0 ? exit_done : exit_failed;
  } catch (const llm_trace_error& e) {
    report("troupe: {}", e.what());
    return exit_bad_input;
  } catch (const std::runtime_error& e) {
    report("troupe: {}", e.what());
    return load_exit_code(e);
  }
}

std::string summary(const trace_statistics::report& r) {
  return fmt::format(
      "{} requests in {:.0f} s: {:.4g} a second; gaps' standard deviation {:.3g} of their mean; "
      "of windows of two seconds {:.0f} % are empty, and the busiest has {:.3g} times the mean; "
      "prompt tokens mean {:.0f} (median {}), output {:.1f} ({})",
      r.requests, r.seconds, r.rate, r.gap_cv, 100 * r.empty, r.peak, r.prompt.mean, r.prompt.median,
      r.output.mean, r.output.median);
}

int run_traffic(const traffic_options& o) {
  llm_traffic traffic(o.traffic);
  trace_statistics reached;
  duration first{-1};
  for (uint64_t i = 0; i < o.requests; ++i) {
    const auto row = traffic.next();
    if (first < duration{}) first = row.at;
    if (row.at - first >= o.length) break;
    fmt::print("{}\n", to_mooncake(row));
    reached.add(row);
  }
  fmt::print(stderr, "{}\n", summary(reached.get()));
  return exit_done;
}

}  // namespace troupe

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/workload/known_traces.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/load/replay.hpp"

namespace troupe {
namespace {

constexpr double day_s = 86'400, day_ms = day_s * 1e3;

struct replay_arguments {
  replay_options replay;
  double from_s = 0, length_s = 0, interval_s = 1, timeout_s = 60, ttft_slo_ms = 0, tpot_slo_ms = 0;
  std::vector<std::string> keys;  ///< NAME=FILE
};

int run(replay_arguments a) {
  auto& r = a.replay;
  r.from = from_ms(a.from_s * 1e3);
  if (a.length_s > 0) r.length = from_ms(a.length_s * 1e3);
  r.interval = from_ms(a.interval_s * 1e3);
  r.timeout = from_ms(a.timeout_s * 1e3);
  if (a.ttft_slo_ms > 0) r.slo.ttft = from_ms(a.ttft_slo_ms);
  if (a.tpot_slo_ms > 0) r.slo.tpot = from_ms(a.tpot_slo_ms);
  for (const auto& k : a.keys) r.tenant_keys[k.substr(0, k.find('='))] = k.substr(k.find('=') + 1);
  return run_replay(r);
}

const CLI::Validator name_and_file(
    [](std::string& text) {
      const auto at = text.find('=');
      return at == 0 || at == std::string::npos || at + 1 == text.size() ? std::string("must be NAME=FILE")
                                                                         : std::string();
    },
    "NAME=FILE");

void add_replay(CLI::App& app, cli_job& chosen) {
  auto a = std::make_shared<replay_arguments>();
  auto& r = a->replay;
  auto* replay = add_subcommand(
      app, "replay",
      "Send the requests of a trace (Azure's, BurstGPT's or Mooncake's) to an OpenAI-compatible server "
      "when they are due",
      "troupe replay examples/traces/mooncake.jsonl http://127.0.0.1:8082 --model llama-7b --csv "
      "series.csv");
  replay->add_option("trace", r.file, "Trace file")->required();
  auto* url = replay->add_option("url", r.url, "http://HOST:PORT");
  auto* simulate = replay->add_option("--simulate", r.simulate,
                                      "Cluster file: replay to a simulated cluster in virtual time instead");
  simulate->excludes(url);
  replay->add_option("--model", r.model, "Model of requests without an adapter");
  replay->add_option("--time-scale", r.time_scale, "Factor of the gaps between requests")
      ->check(finite_in(1e-6, 1e6))
      ->capture_default_str();
  replay->add_option("--rate-scale", r.rate_scale, "Factor of the number of requests")
      ->check(finite_in(1e-6, 1e4))
      ->capture_default_str();
  replay->add_option("--from", a->from_s, "Seconds to skip at the start of the trace")
      ->check(finite_in(0, 1e9));
  replay->add_option("--duration", a->length_s, "Seconds of the trace to replay")
      ->check(finite_in(1e-3, 1e9));
  replay->add_option("--requests", r.requests, "Largest number of requests")->check(whole_in(1, INT64_MAX));
  replay->add_option("--most-prompt", r.max_prompt, "Truncate longer prompts to this many tokens")
      ->check(whole_in(1, UINT32_MAX));
  replay->add_option("--most-output", r.max_output, "Largest number of tokens to request")
      ->check(whole_in(1, UINT32_MAX));
  replay->add_option("--token-bound", r.token_bound, "Upper bound of the prompts' token ids, exclusive")
      ->check(whole_in(1, INT32_MAX))
      ->capture_default_str();
  replay->add_option("--ttft-slo", a->ttft_slo_ms, "Objective for the time to the first token, in ms")
      ->check(finite_in(0.001, day_ms));
  replay->add_option("--tpot-slo", a->tpot_slo_ms, "Objective for the time per output token, in ms")
      ->check(finite_in(0.001, day_ms));
  replay->add_option("--interval", a->interval_s, "Seconds per interval of the series")
      ->check(finite_in(1e-3, day_s))
      ->capture_default_str();
  replay->add_option("--timeout", a->timeout_s, "Seconds without data from the server until a request fails")
      ->check(finite_in(0.001, day_s))
      ->capture_default_str();
  replay
      ->add_option("--connections", r.max_connections,
                   "Largest number of connections; requests beyond it count as failed")
      ->check(whole_in(1, 65536))
      ->capture_default_str();
  replay->add_option("--seed", r.seed, "Seed of prompts and of --rate-scale")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  replay->add_option("--key-file", r.key_file, "File with the API key");
  replay
      ->add_option("--tenant-key", a->keys,
                   "File with the API key of a tenant of the trace (may be repeated)")
      ->check(name_and_file);
  replay->add_option("--json-file", r.json_file, "Output file of the full result, with the series");
  replay->add_option("--csv", r.csv_file, "Output file of the series");
  replay->add_flag("--json", r.json, "Print one JSON document");
  replay->callback([a, url, simulate, &chosen] {
    if (url->empty() && simulate->empty())
      throw CLI::ValidationError("url", "give a URL, or --simulate with a cluster file");
    chosen = [a] { return run(*a); };
  });
}

void add_traffic(CLI::App& app, cli_job& chosen) {
  struct arguments {
    traffic_options what;
    arrival_spec arrivals{.kind = arrival_kind::gamma, .rate = 10, .cv = 1};
    token_lengths prompt = chat_prompts, output = chat_answers;
    std::string like;
    std::optional<double> rate;
    double length_s = 0, slo_ms = 0;
    std::string popularity = "zipf";
  };
  auto a = std::make_shared<arguments>();
  auto& t = a->what.traffic;
  auto* traffic = add_subcommand(
      app, "traffic",
      "Generate a trace of generation requests in Mooncake's format: chat lengths, popular adapters, bursts",
      "troupe traffic --requests 1000 --rate 20 --cv 3 --adapters 100 > trace.jsonl");
  const std::vector<std::string> traces(std::begin(known_trace_names), std::end(known_trace_names));
  auto* like = traffic->add_option("--like", a->like, "Arrivals and lengths of a public trace")
                   ->check(CLI::IsMember(traces));
  traffic->add_option("--requests", a->what.requests, "Largest number of requests")
      ->check(whole_in(1, 1'000'000'000))
      ->capture_default_str();
  traffic->add_option("--duration", a->length_s, "Seconds")->check(finite_in(1e-3, 1e9));
  traffic
      ->add_option("--rate", a->rate, "Requests per second; by default 10, or with --like 2.57, 5.53 and 1")
      ->check(finite_in(1e-6, 1e6));
  traffic
      ->add_option("--cv", a->arrivals.cv,
                   "Standard deviation over mean of the gaps; 1: Poisson, more: bursts")
      ->check(finite_in(0.01, 100))
      ->excludes(like)
      ->capture_default_str();
  const auto lengths = [traffic, like](const char* name, token_lengths& l, const char* of) {
    const std::string option = std::string("--") + name;
    traffic->add_option(option + "-tokens", l.median, std::string("Median tokens of ") + of)
        ->check(finite_in(1, 1e7))
        ->excludes(like)
        ->capture_default_str();
    traffic
        ->add_option(option + "-sigma", l.sigma,
                     "Standard deviation of the logarithm of the tokens; 0: constant")
        ->check(finite_in(0, 10))
        ->excludes(like)
        ->capture_default_str();
    traffic->add_option(option + "-most", l.max, "Largest number of tokens")
        ->check(whole_in(1, 1 << 24))
        ->excludes(like)
        ->capture_default_str();
  };
  lengths("prompt", a->prompt, "prompts");
  lengths("output", a->output, "answers");
  traffic->add_option("--adapters", t.adapters, "Number of adapters; 0: the base model only")
      ->check(whole_in(0, 10'000'000));
  traffic
      ->add_option("--popularity", a->popularity,
                   "distinct, uniform, skewed or identical, as Punica's Figure 11, or zipf")
      ->check(CLI::IsMember({"distinct", "uniform", "skewed", "zipf", "identical"}))
      ->capture_default_str();
  traffic
      ->add_option("--alpha", t.alpha,
                   "skewed: an adapter is ALPHA times as popular as the next; zipf: the i-th is i^-ALPHA as "
                   "popular as the first")
      ->check(finite_in(0, 100))
      ->capture_default_str();
  traffic
      ->add_option("--adapter-prefix", t.adapter_prefix,
                   "Prefix of the adapters' names, before their numbers")
      ->capture_default_str();
  traffic->add_option("--tenants", t.tenants, "Number of tenants: tenant-0, tenant-1, ..., with equal shares")
      ->check(whole_in(0, 1'000'000));
  traffic->add_option("--slo-ms", a->slo_ms, "Objective for the time to the first token, in ms")
      ->check(finite_in(1e-3, day_ms));
  traffic->add_option("--seed", t.seed, "Seed of the trace")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  traffic->callback([a, &chosen] {
    chosen = [a] {
      auto& what = a->what;
      a->arrivals.rate = a->rate.value_or(a->arrivals.rate);
      const auto known = traffic_like(a->like, a->rate);
      what.traffic.arrivals = known ? known->arrivals : a->arrivals;
      what.traffic.prompt = known ? known->prompt : a->prompt;
      what.traffic.output = known ? known->output : a->output;
      if (a->length_s > 0) what.length = from_ms(a->length_s * 1e3);
      if (a->slo_ms > 0) what.traffic.slo = from_ms(a->slo_ms);
      const std::string& p = a->popularity;
      const auto& names = adapter_popularity_names;
      const auto named = std::find(std::begin(names), std::end(names), p) - std::begin(names);
      what.traffic.popularity = static_cast<adapter_popularity>(named);
      return run_traffic(what);
    };
  });
}

}  // namespace

void add_trace_commands(CLI::App& app, cli_job& chosen) {
  add_replay(app, chosen);
  add_traffic(app, chosen);
}

}  // namespace troupe

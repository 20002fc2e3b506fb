// The flags of `troupe load` and `troupe chat`.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>

#include "gpu/common/model_error.hpp"
#include "tools/commands/chat.hpp"
#include "tools/commands/command_line.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/input_flags.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/load/client.hpp"
#include "tools/load/completions.hpp"

namespace troupe {
namespace {

struct load_arguments {
  load_options load;
  completion_load_options completions;
  double duration_s = 10;
  std::string arrivals = "poisson";
  std::vector<std::string> shapes;
  bool completes = false;
  bool rate_given = false;
  double ttft_slo_ms = 0, tpot_slo_ms = 0;
};

int run(load_arguments& a) {
  auto& o = a.load;
  o.length = from_ms(a.duration_s * 1000);
  if (!a.completes) {
    parse_arrival_kind(a.arrivals, o.arrivals.kind);
    try {
      for (const auto& text : a.shapes) o.shapes.push_back(parse_shape_flag(text));
    } catch (const model_error& e) {
      report("load: {}", e.what());
      return exit_bad_input;
    }
    return run_load(o);
  }
  auto& c = a.completions;
  c.url = o.url;
  c.length = o.length;
  c.seed = o.seed;
  c.json = o.json;
  c.key_file = o.key_file;
  if (o.models.size() == 1) c.model = o.models[0];
  if (a.rate_given) c.rate = o.arrivals.rate;
  if (a.ttft_slo_ms > 0) c.slo.ttft = from_ms(a.ttft_slo_ms);
  if (a.tpot_slo_ms > 0) c.slo.tpot = from_ms(a.tpot_slo_ms);
  return run_completion_load(c);
}

/// Options of completions only.
void add_completions(CLI::App& load, load_arguments& a) {
  auto* completions = load.add_flag(
      "--completions", a.completes,
      "Stream completions from /v1/completions; TTFT: first token - send, ITL: between tokens, TPOT: (last - "
      "first) / (output tokens - 1), E2E: end - send, goodput: requests per second within both objectives");
  for (const auto* option : {"--arrivals", "--cv", "--rows", "--slo-ms", "--input"})
    completions->excludes(load.get_option(option));
  const auto only = [completions](CLI::Option* option) {
    option->needs(completions)->group("With --completions");
    return option;
  };
  auto& c = a.completions;
  only(load.add_option("--concurrency", c.concurrency, "Concurrent requests, instead of --rate"))
      ->check(whole_in(1, 65536))
      ->excludes(load.get_option("--rate"));
  only(load.add_option("--requests", c.requests, "Largest number of requests"))
      ->check(whole_in(1, INT64_MAX));
  auto* prompt = only(load.add_option("--prompt", c.prompt, "Prompt of every request"));
  auto* tokens = only(load.add_option("--prompt-tokens", c.prompt_tokens,
                                      "Random token ids per prompt, instead of --prompt"))
                     ->check(whole_in(1, 1 << 20))
                     ->excludes(prompt);
  only(load.add_option("--token-bound", c.token_bound, "Upper bound of the random token ids, exclusive"))
      ->check(whole_in(1, INT32_MAX))
      ->needs(tokens)
      ->capture_default_str();
  only(load.add_option("--max-tokens", c.max_tokens, "Longest answer, in tokens"))
      ->check(whole_in(1, 1 << 20))
      ->capture_default_str();
  auto* adapters = only(load.add_option("--adapters", c.adapters,
                                        "NAME,NAME...: each request names one of these adapters"))
                       ->delimiter(',');
  only(load.add_option("--zipf", c.zipf, "The i-th adapter is i^-S as popular as the first; 0: uniform"))
      ->check(finite_in(0, 100))
      ->needs(adapters);
  only(load.add_option("--ttft-slo", a.ttft_slo_ms, "Objective for the time to the first token, in ms"))
      ->check(finite_in(0.001, hour_ms));
  only(load.add_option("--tpot-slo", a.tpot_slo_ms, "Objective for the time per output token, in ms"))
      ->check(finite_in(0.001, hour_ms));
}

void add_load(CLI::App& app, cli_job& chosen) {
  auto a = std::make_shared<load_arguments>();
  a->load.arrivals.rate = 100;
  a->completions.concurrency = 0;  // unless given
  auto* load = add_subcommand(
      app, "load", "Send open-loop load to a running cluster",
      "troupe load http://127.0.0.1:8080 --rate 200 --duration 10 --model mlp\n"
      "  troupe load http://127.0.0.1:8080 --completions --model llama --concurrency 4 --prompt Hello");
  load->add_option("url", a->load.url, "http://HOST:PORT")->required();
  load->add_option(
          "--rate", a->load.arrivals.rate,
          "Requests per second, over all models; with --completions no default: give it, or --concurrency")
      ->check(finite_in(min_rate, 1e6))
      ->capture_default_str();
  load->add_option("--duration", a->duration_s, "Seconds")
      ->check(finite_in(0.001, 1e6))
      ->capture_default_str();
  load->add_option("--arrivals", a->arrivals, "poisson, gamma or constant")
      ->check(CLI::IsMember({"poisson", "gamma", "constant"}))
      ->capture_default_str();
  load->add_option("--cv", a->load.arrivals.cv, "gamma: standard deviation over mean of the gaps")
      ->check(finite_in(0.01, 100))
      ->capture_default_str();
  load->add_option("--model", a->load.models, "Send only to this model (may be repeated)");
  load->add_option("--rows", a->load.rows, "Rows per request")
      ->check(whole_in(1, 65536))
      ->capture_default_str();
  load->add_option("--shape", a->shapes,
                   "Shape of a row of an input with free dimensions, as x=3x320x320 (may be repeated)");
  load->add_option("--slo-ms", a->load.slo_ms, "Tighter latency objective for all requests, in ms")
      ->check(finite_in(0.001, hour_ms));
  load->add_option("--input", a->load.input,
                   "File of raw input rows instead of random ones, or an image for all rows");
  load->add_option("--seed", a->load.seed, "Seed of arrivals and inputs")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  load->add_option("--key-file", a->load.key_file,
                   "File with an API key; default: the variable TROUPE_API_KEY");
  load->add_flag("--json", a->load.json, "Print one JSON document");
  add_completions(*load, *a);
  load->callback([a, load, &chosen] {
    a->rate_given = load->count("--rate") > 0;
    chosen = [a] { return run(*a); };
  });
}

void add_chat(CLI::App& app, cli_job& chosen) {
  auto c = std::make_shared<chat_options>();
  auto* chat = add_subcommand(app, "chat", "Chat with a language model, line by line; Ctrl-D ends",
                              "troupe chat http://127.0.0.1:8080 --model llama");
  chat->add_option("where", c->where, "http://HOST:PORT, or the folder of a checkpoint")->required();
  chat->add_option("--model", c->model, "Model or adapter of the server");
  chat->add_option("--adapter", c->adapter,
                   "With a checkpoint folder: folder of a LoRA adapter in PEFT's format");
  chat->add_option("--system", c->system, "System prompt");
  chat->add_option("--max-tokens", c->max_tokens, "Longest answer, in tokens; default: the server's")
      ->check(whole_in(1, 1 << 20));
  chat->add_option("--temperature", c->temperature, "Sampling temperature; 0: always the most likely token")
      ->check(finite_in(0, 2));
  chat->add_option("--seed", c->seed, "Seed of the sampling")->check(whole_in(0, INT64_MAX));
  chat->add_option("--key-file", c->key_file, "File with an API key; default: the variable TROUPE_API_KEY");
  chat->callback([c, &chosen] { chosen = [c] { return run_chat(*c); }; });
}

}  // namespace

void add_client_commands(CLI::App& app, cli_job& chosen) {
  add_load(app, chosen);
  add_chat(app, chosen);
}

}  // namespace troupe

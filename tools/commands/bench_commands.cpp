// The flags of `troupe bench ...`.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "messages/tensor/decisions.hpp"
#include "tools/bench/fabric.hpp"
#include "tools/bench/infer.hpp"
#include "tools/bench/llm.hpp"
#include "tools/bench/partition.hpp"
#include "tools/bench/route.hpp"
#include "tools/bench/schedule.hpp"
#include "tools/bench/serve.hpp"
#include "tools/bench/simulate.hpp"
#include "tools/commands/command_line.hpp"

namespace troupe {

void add_bench_commands(CLI::App& app, cli_job& chosen) {
  auto* bench =
      add_subcommand(app, "bench", "Measure, and compare with a peer or a limit measured in the same run",
                     "troupe bench schedule --models 10 --gpus 1024 --json");
  bench->require_subcommand(1);

  auto f = std::make_shared<bench_fabric_options>();
  auto* fabric = add_subcommand(*bench, "fabric", "The data lane's carrier against ucx_perftest",
                                "UCX_TLS=tcp,self troupe bench fabric");
  fabric->add_option("--repetitions", f->repetitions, "Medians of this many")
      ->check(whole_in(1, 1000))
      ->capture_default_str();
  fabric->add_flag("--json", f->json, "Print one JSON document");
  fabric->callback([f, &chosen] { chosen = [f] { return bench_fabric(*f); }; });

  auto p = std::make_shared<bench_partition_options>();
  auto* partition = add_subcommand(
      *bench, "partition", "Models into sub-clusters, the search against random search (Symphony's Fig. 16)",
      "troupe bench partition --zoo examples/profiles/parameters.csv --configurations 20");
  partition->add_option("--zoo", p->zoo, "CSV file: model,million_parameters")->required();
  partition->add_option("--models", p->study.models, "Models")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  partition->add_option("--parts", p->study.parts, "Sub-clusters")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  partition->add_option("--configurations", p->study.configurations, "Random choices of models and rates")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  partition->add_option("--steps", p->study.steps, "Moves and swaps the search may look at")
      ->check(whole_in(1, 1'000'000'000'000))
      ->capture_default_str();
  auto* tries =
      partition->add_option("--random-tries", p->study.random_tries, "Partitions that random search tries")
          ->check(whole_in(1, 1'000'000'000))
          ->capture_default_str();
  partition
      ->add_option("--seconds", p->study.random_seconds, "Random search has so long instead; the paper: 10")
      ->check(finite_in(0.001, 3600))
      ->excludes(tries);
  partition->add_option("--seed", p->study.seed, "Of the configurations")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  auto* as_csv = partition->add_flag("--csv", p->csv, "Print every configuration as CSV");
  partition->add_flag("--json", p->json, "Print one JSON document")->excludes(as_csv);
  partition->callback([p, &chosen] { chosen = [p] { return bench_partition(*p); }; });

  auto r = std::make_shared<bench_route_options>();
  auto* route =
      add_subcommand(*bench, "route", "Decisions of the request router: one request ends, another is placed",
                     "troupe bench route --engines 64 --adapters 10000");
  route->add_option("--engines", r->engines, "Engines")->check(whole_in(1, 4096))->capture_default_str();
  route->add_option("--adapters", r->adapters, "Adapters that every engine has")
      ->check(whole_in(1, 1'000'000))
      ->capture_default_str();
  route->add_option("--texts", r->sequences, "Sequences that run on an engine at once")
      ->check(whole_in(1, 4096))
      ->capture_default_str();
  route->add_option("--load", r->load, "Share of these places that is taken")
      ->check(finite_in(0.01, 1))
      ->capture_default_str();
  route->add_option("--requests", r->requests, "Decisions to measure")
      ->check(whole_in(100, 100'000'000))
      ->capture_default_str();
  route->add_option("--routing", r->routing, "Only this one");
  route->add_flag("--json", r->json, "Print one JSON document");
  route->callback([r, &chosen] { chosen = [r] { return bench_route(*r); }; });

  auto s = std::make_shared<bench_schedule_options>();
  auto* schedule =
      add_subcommand(*bench, "schedule", "Requests a second through model_queue and rank_arbiter",
                     "troupe bench schedule --models 10 --gpus 1024");
  schedule->add_option("--models", s->models, "Models")->check(whole_in(1, 65535))->capture_default_str();
  schedule->add_option("--gpus", s->gpus, "Emulated GPUs")->check(whole_in(1, 65536))->capture_default_str();
  schedule
      ->add_option("--domains", s->domains,
                   "Scheduling domains, each with an arbiter, its share of models and GPUs; default: as many "
                   "as the load "
                   "needs threads and there are cores")
      ->check(CLI::Range(1, 64));
  schedule
      ->add_option("--threads", s->threads,
                   "One for each domain with its clients and GPUs, or one more that has all clients and "
                   "GPUs; default: one "
                   "more if a single domain has more load than a thread can carry")
      ->check(CLI::Range(1, 65));
  schedule->add_option("--slo-ms", s->slo_ms, "Latency objective")
      ->check(finite_in(0.001, hour_ms))
      ->capture_default_str();
  schedule->add_option("--alpha-ms", s->alpha_ms, "Batch latency a row")
      ->check(finite_in(1e-6, hour_ms))
      ->capture_default_str();
  schedule->add_option("--beta-ms", s->beta_ms, "Batch latency a batch")
      ->check(finite_in(0, hour_ms))
      ->capture_default_str();
  schedule->add_option("--batching", s->batching, "Batching policy")->capture_default_str();
  schedule
      ->add_option("--decision-log", s->decision_log, "Remember the decisions about so many requests a model")
      ->check(whole_in(0, largest_decision_log))
      ->capture_default_str();
  schedule->add_option("--rate", s->rate, "Only this many requests a second, instead of searching the most")
      ->check(finite_in(min_rate, max_scheduled_rate));
  schedule->add_option("--seed", s->seed, "Of the arrivals")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  schedule->add_flag(
      "--sweep", s->sweep,
      "A table over 1 to 512 models and 1 to 4,096 GPUs; --rate limits each run's requests a second");
  schedule->add_flag("--json", s->json, "Print one JSON document");
  schedule->callback([s, &chosen] { chosen = [s] { return bench_schedule(*s); }; });

  auto e = std::make_shared<bench_serve_options>();
  auto* serve =
      add_subcommand(*bench, "serve", "What two processes add to a model's own time, stage by stage",
                     "troupe bench serve --rate 500 --batching eager");
  serve->add_option("--model-file", e->model_file, "ONNX file")->capture_default_str();
  serve->add_option("--rate", e->rate, "Requests a second")
      ->check(finite_in(min_rate, 1e6))
      ->capture_default_str();
  serve->add_option("--duration", e->duration_s, "Seconds")
      ->check(finite_in(0.001, 86'400))
      ->capture_default_str();
  serve->add_option("--slo-ms", e->slo_ms, "Latency objective")
      ->check(finite_in(0.001, hour_ms))
      ->capture_default_str();
  serve->add_option("--batching", e->batching, "Batching policy")->capture_default_str();
  serve->add_flag("--json", e->json, "Print one JSON document");
  serve->callback([e, &chosen] { chosen = [e] { return bench_serve(*e); }; });

  auto v = std::make_shared<bench_simulate_options>();
  auto* virtually =
      add_subcommand(*bench, "simulate", "Simulated requests per CPU second", "troupe bench simulate");
  virtually->add_flag("--json", v->json, "Print one JSON document");
  virtually->callback([v, &chosen] { chosen = [v] { return bench_simulate(*v); }; });

  auto i = std::make_shared<bench_infer_options>();
  auto* infer = add_subcommand(*bench, "infer",
                               "The CPU engine against this core's matrix product and onnxruntime, or a GPU",
                               "troupe bench infer");
  infer->add_option("--models", i->models, "Folder of *.onnx files")->capture_default_str();
  infer->add_option("--python", i->python, "Interpreter that has onnxruntime")->capture_default_str();
  add_device(*infer, i->where);
  infer->add_flag("--json", i->json, "Print one JSON document");
  infer->callback([i, &chosen] { chosen = [i] { return bench_infer(*i); }; });

  auto l = std::make_shared<bench_llm_options>();
  auto* llm = add_subcommand(
      *bench, "llm", "Tokens a second of a random language model against this machine's memory and cores",
      "troupe bench llm --type bf16 --batch 1,32");
  llm->add_option("--layers", l->shape.layers, "Of the model")
      ->check(whole_in(1, 256))
      ->capture_default_str();
  llm->add_option("--hidden", l->shape.hidden, "Width of the model")
      ->check(whole_in(2, 16'384))
      ->capture_default_str();
  llm->add_option("--heads", l->shape.heads, "Of the queries")
      ->check(whole_in(1, 256))
      ->capture_default_str();
  llm->add_option("--kv-heads", l->shape.kv_heads, "Of keys and values")
      ->check(whole_in(1, 256))
      ->capture_default_str();
  llm->add_option("--intermediate", l->shape.intermediate, "Width between gate, up and down")
      ->check(whole_in(1, 65'536))
      ->capture_default_str();
  llm->add_option("--vocabulary", l->shape.vocabulary, "Tokens")
      ->check(whole_in(1, 1 << 20))
      ->capture_default_str();
  llm->add_option("--type", l->type, "Of weights, adapters and KV cache")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  llm->add_option("--threads", l->threads, "Default: one for each core")->check(whole_in(1, 1024));
  llm->add_option("--batch", l->batches, "Sequences that are decoded at once, several batch sizes")
      ->delimiter(',')
      ->check(whole_in(1, 1024))
      ->capture_default_str();
  llm->add_option("--context", l->context, "Tokens of each sequence, and of the prefill")
      ->check(whole_in(1, 1 << 17))
      ->capture_default_str();
  llm->add_option("--adapters", l->adapters, "A batch of so many rows with an adapter each; 0: none")
      ->check(whole_in(0, 1024))
      ->capture_default_str();
  llm->add_option("--rank", l->rank, "Of the adapters")->check(whole_in(1, 256))->capture_default_str();
  llm->add_option("--seconds", l->seconds, "For each figure")
      ->check(finite_in(0.001, 3600))
      ->capture_default_str();
  llm->add_flag("--cpu-time", l->cpu_time, "With --threads 1: CPU time, for a machine that others use, too");
  llm->add_flag("--json", l->json, "Print one JSON document");
  llm->callback([l, &chosen] { chosen = [l] { return bench_llm(*l); }; });
}

}  // namespace troupe

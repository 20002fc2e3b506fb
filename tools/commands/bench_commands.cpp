// The flags of `troupe bench ...`.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "messages/tensor/decisions.hpp"
#include "tools/bench/chain.hpp"
#include "tools/bench/fabric.hpp"
#include "tools/bench/infer.hpp"
#include "tools/bench/llm.hpp"
#include "tools/bench/load.hpp"
#include "tools/bench/partition.hpp"
#include "tools/bench/plan.hpp"
#include "tools/bench/route.hpp"
#include "tools/bench/schedule.hpp"
#include "tools/bench/serve.hpp"
#include "tools/bench/simulate.hpp"
#include "tools/commands/command_line.hpp"

namespace troupe {

void add_bench_commands(CLI::App& app, cli_job& chosen) {
  auto* bench = add_subcommand(app, "bench",
                               "Run a benchmark, compared with a peer or a limit measured in the same run",
                               "troupe bench schedule --models 10 --gpus 1024 --json");
  bench->require_subcommand(1);

  auto f = std::make_shared<bench_fabric_options>();
  auto* fabric =
      add_subcommand(*bench, "fabric", "Compare the data lane's transport with ucx_perftest, or TLS with UCX",
                     "UCX_TLS=tcp,self troupe bench fabric");
  fabric->add_option("--repetitions", f->repetitions, "Repetitions; the results are medians")
      ->check(whole_in(1, 1000))
      ->capture_default_str();
  fabric->add_flag("--tls", f->tls, "Compare the transport over TLS with UCX over TCP");
  fabric->add_flag("--json", f->json, "Print one JSON document");
  fabric->callback([f, &chosen] { chosen = [f] { return bench_fabric(*f); }; });

  auto p = std::make_shared<bench_partition_options>();
  auto* partition = add_subcommand(
      *bench, "partition",
      "Partition models into sub-clusters: the search against random search (Symphony, Fig. 16)",
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
  partition->add_option("--steps", p->study.steps, "Moves and swaps that the search may examine")
      ->check(whole_in(1, 1'000'000'000'000))
      ->capture_default_str();
  auto* tries =
      partition->add_option("--random-tries", p->study.random_tries, "Partitions that random search tries")
          ->check(whole_in(1, 1'000'000'000))
          ->capture_default_str();
  partition
      ->add_option("--seconds", p->study.random_seconds,
                   "Seconds of random search, instead of --random-tries; the paper: 10")
      ->check(finite_in(0.001, 3600))
      ->excludes(tries);
  partition->add_option("--seed", p->study.seed, "Seed of the configurations")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  auto* as_csv = partition->add_flag("--csv", p->csv, "Print every configuration as CSV");
  partition->add_flag("--json", p->json, "Print one JSON document")->excludes(as_csv);
  partition->callback([p, &chosen] { chosen = [p] { return bench_partition(*p); }; });

  auto h = std::make_shared<bench_chain_options>();
  auto* chain = add_subcommand(*bench, "chain", "Compare a multicast chain of processes with ucx_perftest",
                               "UCX_TLS=tcp,self troupe bench chain --hops 3");
  chain->add_option("--hops", h->hops, "Targets of the chain")->check(whole_in(1, 16))->capture_default_str();
  chain->add_option("--bytes", h->bytes, "Bytes of the weights")
      ->check(whole_in(1 << 20, uint64_t{1} << 36))
      ->capture_default_str();
  chain->add_option("--chunk-bytes", h->chunk_bytes, "Bytes of a chunk")
      ->check(whole_in(4096, uint64_t{1} << 30))
      ->capture_default_str();
  chain->add_option("--window", h->window, "Chunks that a target pulls at once")
      ->check(whole_in(1, 64))
      ->capture_default_str();
  chain->add_option("--repetitions", h->repetitions, "Repetitions; the results are medians")
      ->check(whole_in(1, 1000))
      ->capture_default_str();
  chain->add_flag("--json", h->json, "Print one JSON document");
  chain->callback([h, &chosen] { chosen = [h] { return bench_chain(*h); }; });

  auto d = std::make_shared<bench_load_options>();
  auto* load =
      add_subcommand(*bench, "load", "Compare the loading of a checkpoint in the page cache with copying",
                     "troupe bench load --model MODEL_FOLDER --type bf16");
  load->add_option("--model", d->model, "Folder of a language model")->required();
  load->add_option("--type", d->type, "Type of the weights in memory")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  load->add_option("--repetitions", d->repetitions, "Repetitions; the results are medians")
      ->check(whole_in(1, 1000))
      ->capture_default_str();
  load->add_flag("--json", d->json, "Print one JSON document");
  load->callback([d, &chosen] { chosen = [d] { return bench_load(*d); }; });

  auto m = std::make_shared<bench_plan_options>();
  auto* plan = add_subcommand(*bench, "plan", "Measure plans of multicasts over random networks",
                              "troupe bench plan --targets 64 --sources 8");
  plan->add_option("--sources", m->sources, "Sources")->check(whole_in(1, 256))->capture_default_str();
  plan->add_option("--targets", m->targets, "Targets")->check(whole_in(1, 256))->capture_default_str();
  plan->add_option("--instances", m->instances, "Random networks of each kind")
      ->check(whole_in(1, 100'000))
      ->capture_default_str();
  plan->add_flag("--greedy", m->greedy, "Greedy chains even for few targets, compared with the best ones");
  plan->add_flag("--json", m->json, "Print one JSON document");
  plan->callback([m, &chosen] { chosen = [m] { return bench_plan(*m); }; });

  auto r = std::make_shared<bench_route_options>();
  auto* route = add_subcommand(*bench, "route",
                               "Measure decisions of the request router: one request ends, another is placed",
                               "troupe bench route --engines 64 --adapters 10000");
  route->add_option("--engines", r->engines, "Engines")->check(whole_in(1, 4096))->capture_default_str();
  route->add_option("--adapters", r->adapters, "Adapters on every engine")
      ->check(whole_in(1, 1'000'000))
      ->capture_default_str();
  route->add_option("--texts", r->sequences, "Largest number of running sequences per engine")
      ->check(whole_in(1, 4096))
      ->capture_default_str();
  route->add_option("--load", r->load, "Share of these places in use")
      ->check(finite_in(0.01, 1))
      ->capture_default_str();
  route->add_option("--cached-blocks", r->blocks, "Cached blocks of all engines, for the routing \"prefix\"")
      ->check(whole_in(0, 100'000'000))
      ->capture_default_str();
  route->add_option("--prompt-blocks", r->prompt_blocks, "Blocks of a prompt")
      ->check(whole_in(1, 65536))
      ->capture_default_str();
  route->add_option("--requests", r->requests, "Decisions to measure")
      ->check(whole_in(100, 100'000'000))
      ->capture_default_str();
  route->add_option("--routing", r->routing, "Measure only this routing");
  route->add_flag("--json", r->json, "Print one JSON document");
  route->callback([r, &chosen] { chosen = [r] { return bench_route(*r); }; });

  auto s = std::make_shared<bench_schedule_options>();
  auto* schedule =
      add_subcommand(*bench, "schedule", "Measure requests per second through model_queue and rank_arbiter",
                     "troupe bench schedule --models 10 --gpus 1024");
  schedule->add_option("--models", s->models, "Models")->check(whole_in(1, 65535))->capture_default_str();
  schedule->add_option("--gpus", s->gpus, "Emulated GPUs")->check(whole_in(1, 65536))->capture_default_str();
  schedule
      ->add_option("--domains", s->domains,
                   "Scheduling domains, each with an arbiter and its share of models and GPUs; default: one "
                   "per thread that the load needs, at most one per core")
      ->check(CLI::Range(1, 64));
  schedule
      ->add_option("--threads", s->threads,
                   "Threads: one per domain with its clients and GPUs, or one more for all clients and GPUs; "
                   "default: one more if one domain has more load than a thread can carry")
      ->check(CLI::Range(1, 65));
  schedule->add_option("--slo-ms", s->slo_ms, "Latency objective, in ms")
      ->check(finite_in(0.001, hour_ms))
      ->capture_default_str();
  schedule->add_option("--alpha-ms", s->alpha_ms, "Batch latency per row, in ms")
      ->check(finite_in(1e-6, hour_ms))
      ->capture_default_str();
  schedule->add_option("--beta-ms", s->beta_ms, "Batch latency per batch, in ms")
      ->check(finite_in(0, hour_ms))
      ->capture_default_str();
  schedule->add_option("--batching", s->batching, "Batching policy")->capture_default_str();
  schedule->add_option("--decision-log", s->decision_log, "Requests per model in the decision log")
      ->check(whole_in(0, largest_decision_log))
      ->capture_default_str();
  schedule
      ->add_option("--rate", s->rate,
                   "Run this many requests per second, instead of searching for the maximum")
      ->check(finite_in(min_rate, max_scheduled_rate));
  schedule->add_option("--seed", s->seed, "Seed of the arrivals")
      ->check(whole_in(0, INT64_MAX))
      ->capture_default_str();
  schedule->add_flag("--sweep", s->sweep,
                     "Print a table over 1 to 512 models and 1 to 4,096 GPUs; --rate limits the requests per "
                     "second of each run");
  schedule->add_flag("--json", s->json, "Print one JSON document");
  schedule->callback([s, &chosen] { chosen = [s] { return bench_schedule(*s); }; });

  auto e = std::make_shared<bench_serve_options>();
  auto* serve =
      add_subcommand(*bench, "serve", "Measure the overhead of serving with two processes, by stage",
                     "troupe bench serve --rate 500 --batching eager");
  serve->add_option("--model-file", e->model_file, "ONNX file")->capture_default_str();
  serve->add_option("--rate", e->rate, "Requests per second")
      ->check(finite_in(min_rate, 1e6))
      ->capture_default_str();
  serve->add_option("--duration", e->duration_s, "Seconds")
      ->check(finite_in(0.001, 86'400))
      ->capture_default_str();
  serve->add_option("--slo-ms", e->slo_ms, "Latency objective, in ms")
      ->check(finite_in(0.001, hour_ms))
      ->capture_default_str();
  serve->add_option("--batching", e->batching, "Batching policy")->capture_default_str();
  serve->add_flag("--json", e->json, "Print one JSON document");
  serve->callback([e, &chosen] { chosen = [e] { return bench_serve(*e); }; });

  auto v = std::make_shared<bench_simulate_options>();
  auto* virtually = add_subcommand(*bench, "simulate", "Measure simulated requests per CPU second",
                                   "troupe bench simulate");
  virtually->add_flag("--json", v->json, "Print one JSON document");
  virtually->callback([v, &chosen] { chosen = [v] { return bench_simulate(*v); }; });

  auto i = std::make_shared<bench_infer_options>();
  auto* infer = add_subcommand(
      *bench, "infer",
      "Compare the CPU engine with this core's matrix product and onnxruntime, or measure a GPU",
      "troupe bench infer");
  infer->add_option("--models", i->models, "Folder of *.onnx files")->capture_default_str();
  infer->add_option("--python", i->python, "Python interpreter with onnxruntime")->capture_default_str();
  add_device(*infer, i->where);
  infer->add_flag("--json", i->json, "Print one JSON document");
  infer->callback([i, &chosen] { chosen = [i] { return bench_infer(*i); }; });

  auto l = std::make_shared<bench_llm_options>();
  auto* llm = add_subcommand(*bench, "llm",
                             "Compare the tokens per second of a random language model with the limits of "
                             "this machine's memory and cores",
                             "troupe bench llm --type bf16 --batch 1,32");
  llm->add_option("--layers", l->shape.layers, "Layers of the model")
      ->check(whole_in(1, 256))
      ->capture_default_str();
  llm->add_option("--hidden", l->shape.hidden, "Hidden size of the model")
      ->check(whole_in(2, 16'384))
      ->capture_default_str();
  llm->add_option("--heads", l->shape.heads, "Query heads")->check(whole_in(1, 256))->capture_default_str();
  llm->add_option("--kv-heads", l->shape.kv_heads, "Key and value heads")
      ->check(whole_in(1, 256))
      ->capture_default_str();
  llm->add_option("--intermediate", l->shape.intermediate, "Intermediate size of the MLP")
      ->check(whole_in(1, 65'536))
      ->capture_default_str();
  llm->add_option("--vocabulary", l->shape.vocabulary, "Tokens of the vocabulary")
      ->check(whole_in(1, 1 << 20))
      ->capture_default_str();
  llm->add_option("--type", l->type, "Type of weights, adapters and KV cache")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  llm->add_option("--threads", l->threads, "Threads; default: one per core")->check(whole_in(1, 1024));
  llm->add_option("--batch", l->batches, "Batch sizes of decode steps, comma-separated")
      ->delimiter(',')
      ->check(whole_in(1, 1024))
      ->capture_default_str();
  llm->add_option("--context", l->context, "Tokens of each sequence, and of the prefill")
      ->check(whole_in(1, 1 << 17))
      ->capture_default_str();
  llm->add_option("--adapters", l->adapters, "Rows of a batch with one adapter each; 0: none")
      ->check(whole_in(0, 1024))
      ->capture_default_str();
  llm->add_option("--rank", l->rank, "Rank of the adapters")->check(whole_in(1, 256))->capture_default_str();
  llm->add_option("--seconds", l->seconds, "Seconds per measurement")
      ->check(finite_in(0.001, 3600))
      ->capture_default_str();
  llm->add_flag("--cpu-time", l->cpu_time, "With --threads 1: measure CPU time, for a shared machine");
  llm->add_flag("--json", l->json, "Print one JSON document");
  llm->callback([l, &chosen] { chosen = [l] { return bench_llm(*l); }; });
}

}  // namespace troupe

// The flags of commands that run models in this process: `troupe serve`, `infer`, `embed`, `profile` and
// `generate`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>

#include "tools/commands/command_line.hpp"
#include "tools/commands/embed.hpp"
#include "tools/commands/generate.hpp"
#include "tools/commands/infer_file.hpp"
#include "tools/commands/profile_llm.hpp"
#include "tools/commands/profile_model.hpp"
#include "tools/commands/serve.hpp"

namespace troupe {
namespace {

void add_generate(CLI::App& app, cli_job& chosen) {
  auto o = std::make_shared<generate_options>();
  auto* sub = add_subcommand(app, "generate", "Complete one prompt with a language model, without a cluster",
                             "troupe generate --model llama --prompt 'Once upon a time' --max-tokens 32");
  sub->add_option("--model", o->model, "Folder of a Hugging Face checkpoint")->required();
  sub->add_option("--adapter", o->adapter, "Folder of a LoRA adapter in PEFT's format");
  auto* prompt = sub->add_option("--prompt", o->prompt, "Prompt");
  auto* ids = sub->add_option("--ids", o->ids, "Token ids of the prompt instead, as 1,2,3")
                  ->delimiter(',')
                  ->check(whole_in(0, INT32_MAX));
  sub->add_option("--max-tokens", o->max_tokens, "Largest number of generated tokens")
      ->check(whole_in(1, 1 << 20))
      ->capture_default_str();
  auto& chosen_by = o->sampling;
  sub->add_option("--temperature", chosen_by.temperature,
                  "Sampling temperature; 0: always the most likely token")
      ->check(finite_in(0, 100))
      ->capture_default_str();
  sub->add_option("--top-k", chosen_by.top_k, "Sample from this many of the most likely tokens; 0: all")
      ->check(whole_in(0, INT32_MAX));
  sub->add_option("--top-p", chosen_by.top_p,
                  "Sample from the most likely tokens with this probability in total")
      ->check(finite_in(1e-6, 1));
  sub->add_option("--min-p", chosen_by.min_p,
                  "Sample from tokens with at least this share of the highest probability")
      ->check(finite_in(0, 1));
  sub->add_option("--repetition-penalty", chosen_by.repetition_penalty,
                  "Penalty on the logits of tokens that have occurred; 1: none")
      ->check(finite_in(0.01, 100));
  sub->add_option("--presence-penalty", chosen_by.presence_penalty,
                  "Subtracted from the logits of generated tokens")
      ->check(finite_in(-2, 2));
  sub->add_option("--frequency-penalty", chosen_by.frequency_penalty,
                  "Subtracted from the logit of a token each time it was generated")
      ->check(finite_in(-2, 2));
  sub->add_option("--seed", chosen_by.seed, "Seed of the sampling")->check(whole_in(0, INT64_MAX));
  sub->add_flag("--ignore-eos", o->ignore_eos, "Continue after an end-of-sequence token");
  sub->add_option("--device", o->device, "Device; only cpu is supported")->capture_default_str();
  sub->add_option("--dtype", o->dtype, "Type of the weights and the KV cache: f32, bf16 or f16")
      ->capture_default_str();
  auto* json = sub->add_flag("--json", o->json, "Print one JSON document");
  sub->add_option("--logits-at", o->logits_at,
                  "With --json: print the logits after these positions of the prompt; -1 is the last")
      ->delimiter(',')
      ->needs(json);
  prompt->excludes(ids);
  sub->callback([o, prompt, ids, &chosen] {
    if (prompt->count() + ids->count() == 0) throw CLI::RequiredError("--prompt or --ids");
    o->has_prompt = prompt->count() > 0;
    chosen = [o] { return run_generate(*o); };
  });
}

void add_serve(CLI::App& app, cli_job& chosen) {
  auto s = std::make_shared<serve_command>();
  s->what.threads = std::max(1U, std::thread::hardware_concurrency());
  auto* sub = add_subcommand(app, "serve", "Serve models without a cluster file, in this process",
                             "troupe serve mlp.onnx llama/ adapters/ --port 8000");
  sub->add_option(
         "paths", s->what.paths,
         "ONNX files, model repositories of Triton, folders of checkpoints and encoders, folders of LoRA "
         "adapters of the checkpoint")
      ->required();
  sub->add_option("--port", s->what.port, "Port of HTTP, on loopback; the next one is for operators")
      ->check(whole_in(1, UINT16_MAX))
      ->capture_default_str();
  sub->add_option("--threads", s->what.threads, "Threads of an inference")
      ->check(whole_in(1, 1024))
      ->capture_default_str();
  sub->add_option("--kv-mb", s->what.kv_mb, "KV cache of each language model, in MiB")
      ->check(whole_in(1, 1 << 22))
      ->capture_default_str();
  sub->add_option("--slo-ms", s->what.slo_ms, "Latency objective of tensor models and encoders, in ms")
      ->check(finite_in(0.001, hour_ms))
      ->capture_default_str();
  sub->add_option("--shape", s->what.shapes,
                  "Shape of an input that an ONNX model leaves open: NAME=1x3x320x320 for one request at a "
                  "time, NAME=3x320x320 for the rows of batches; give several times for several inputs")
      ->expected(1)
      ->take_all();
  sub->add_flag("--print-config", s->print_config, "Print the cluster file that this stands for, and end");
  sub->add_flag("--json", s->json, "Print the ready line as a JSON document");
  sub->callback([s, &chosen] { chosen = [s] { return serve_paths(*s); }; });
}

void add_profile(CLI::App& app, cli_job& chosen) {
  auto tensors = std::make_shared<profile_options>();
  auto llm = std::make_shared<profile_llm_options>();
  auto* sub = add_subcommand(
      app, "profile", "Measure a model's latency and fit a profile for schedulers and emulated devices",
      "troupe profile --model-file mlp.onnx --max-batch 32");
  auto* file =
      sub->add_option("--model-file", tensors->model_file, "ONNX file: alpha and beta by batch size");
  auto* folder = sub->add_option(
      "--model", llm->model, "Folder of a Hugging Face checkpoint instead: the terms of its step latency");
  add_device(*sub, tensors->where, file);
  sub->add_flag("--engines", tensors->engines, "Measure each engine of a CPU that runs the model")
      ->needs(file);
  sub->add_option("--max-batch", tensors->max_batch, "Largest batch, in rows or sequences")
      ->check(whole_in(1, 65536))
      ->capture_default_str();
  sub->add_option("--adapter", llm->adapter, "Folder of a LoRA adapter in PEFT's format")->needs(folder);
  sub->add_option("--dtype", llm->dtype, "Type of the weights and the KV cache: f32, bf16 or f16")
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--threads", llm->threads, "Threads of a step")
      ->check(whole_in(1, 1024))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--max-context", llm->max_context, "Longest sequence, in tokens")
      ->check(whole_in(2, 1 << 20))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--prefill-chunk", llm->prefill_chunk, "Largest number of prompt tokens in a step")
      ->check(whole_in(1, 1 << 20))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--kv-mb", llm->kv_mb, "KV cache, in MiB; steps that need more are skipped")
      ->check(whole_in(1, 1 << 22))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--seconds", llm->seconds, "Seconds for all steps; each step runs at least three times")
      ->check(finite_in(0, 86'400))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--output", llm->output,
                  "Output file of the profile, for [[llm]] with device = \"emulated\"")
      ->needs(folder);
  sub->add_flag("--json", tensors->json, "Print one JSON document");
  file->excludes(folder);
  sub->callback([tensors, llm, file, folder, &chosen] {
    if (file->count() + folder->count() == 0) throw CLI::RequiredError("--model-file or --model");
    llm->max_batch = tensors->max_batch;
    llm->json = tensors->json;
    const bool is_llm = folder->count() > 0;
    chosen = [=] { return is_llm ? profile_llm(*llm) : profile_model(*tensors); };
  });
}

}  // namespace

void add_model_commands(CLI::App& app, cli_job& chosen) {
  auto i = std::make_shared<infer_file_options>();
  auto* infer = add_subcommand(app, "infer", "Run one model file in this process, without a cluster",
                               "troupe infer --model-file mlp.onnx --input mlp.in.bin --output out.bin");
  infer->add_option("--model-file", i->model_file, "ONNX file")->required();
  infer->add_option("--input", i->input, "Raw little-endian tensors, in graph input order")->required();
  infer->add_option("--output", i->output, "Output file of raw tensors, in graph output order")->required();
  add_device(*infer, i->where);
  infer->add_flag("--json", i->json, "Print one JSON document");
  infer->callback([i, &chosen] { chosen = [i] { return infer_file(*i); }; });

  auto e = std::make_shared<embed_options>();
  auto* embedding = add_subcommand(app, "embed", "Embed texts with an encoder, without a cluster",
                                   "troupe embed --model minilm --text 'a text' --text 'another' --json");
  embedding->add_option("--model", e->model, "Folder of an encoder: BERT, RoBERTa or XLM-R")->required();
  embedding->add_option("--text", e->texts, "Text; give several times for several texts")
      ->required()
      ->expected(1)
      ->take_all();
  embedding->add_option("--threads", e->threads, "Threads")->check(whole_in(1, 1024))->capture_default_str();
  embedding->add_flag("--json", e->json, "Print one JSON document");
  embedding->callback([e, &chosen] { chosen = [e] { return embed(*e); }; });

  add_serve(app, chosen);
  add_profile(app, chosen);
  add_generate(app, chosen);
}

}  // namespace troupe

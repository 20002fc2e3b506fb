// The flags of commands that run a model file in this process: `troupe infer`, `profile` and `generate`.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "tools/commands/command_line.hpp"
#include "tools/commands/generate.hpp"
#include "tools/commands/infer_file.hpp"
#include "tools/commands/profile_llm.hpp"
#include "tools/commands/profile_model.hpp"

namespace troupe {
namespace {

void add_generate(CLI::App& app, cli_job& chosen) {
  auto o = std::make_shared<generate_options>();
  auto* sub = add_subcommand(app, "generate", "Continue one text with a language model, without a cluster",
                             "troupe generate --model llama --prompt 'Once upon a time' --max-tokens 32");
  sub->add_option("--model", o->model, "Folder of a Hugging Face checkpoint")->required();
  sub->add_option("--adapter", o->adapter, "Folder of a LoRA adapter in PEFT's format");
  auto* prompt = sub->add_option("--prompt", o->prompt, "The text to continue");
  auto* ids = sub->add_option("--ids", o->ids, "Its tokens instead, as 1,2,3")
                  ->delimiter(',')
                  ->check(whole_in(0, INT32_MAX));
  sub->add_option("--max-tokens", o->max_tokens, "Generated ones at most")
      ->check(whole_in(1, 1 << 20))
      ->capture_default_str();
  auto& chosen_by = o->sampling;
  sub->add_option("--temperature", chosen_by.temperature, "0: always the most likely token")
      ->check(finite_in(0, 100))
      ->capture_default_str();
  sub->add_option("--top-k", chosen_by.top_k, "Only the so many most likely tokens; 0: all")
      ->check(whole_in(0, INT32_MAX));
  sub->add_option("--top-p", chosen_by.top_p, "Only the most likely tokens that have this share together")
      ->check(finite_in(1e-6, 1));
  sub->add_option("--min-p", chosen_by.min_p, "Only tokens with this share of the most likely one's")
      ->check(finite_in(0, 1));
  sub->add_option("--repetition-penalty", chosen_by.repetition_penalty, "Divides what has occurred")
      ->check(finite_in(0.01, 100));
  sub->add_option("--presence-penalty", chosen_by.presence_penalty, "Subtracted from what was generated")
      ->check(finite_in(-2, 2));
  sub->add_option("--frequency-penalty", chosen_by.frequency_penalty,
                  "Subtracted as often as it was generated")
      ->check(finite_in(-2, 2));
  sub->add_option("--seed", chosen_by.seed, "Of what is drawn with a temperature")
      ->check(whole_in(0, INT64_MAX));
  sub->add_flag("--ignore-eos", o->ignore_eos, "Go on after a token that ends a text");
  sub->add_option("--device", o->device, "Where it runs: cpu, the only one today")->capture_default_str();
  sub->add_option("--dtype", o->dtype, "Of the weights and the KV cache: f32, bf16 or f16")
      ->capture_default_str();
  auto* json = sub->add_flag("--json", o->json, "Print one JSON document");
  sub->add_option("--logits-at", o->logits_at,
                  "With --json: the logits after these positions of the prompt; -1 is the last")
      ->delimiter(',')
      ->needs(json);
  prompt->excludes(ids);
  sub->callback([o, prompt, ids, &chosen] {
    if (prompt->count() + ids->count() == 0) throw CLI::RequiredError("--prompt or --ids");
    o->has_prompt = prompt->count() > 0;
    chosen = [o] { return run_generate(*o); };
  });
}

void add_profile(CLI::App& app, cli_job& chosen) {
  auto tensors = std::make_shared<profile_options>();
  auto llm = std::make_shared<profile_llm_options>();
  auto* sub = add_subcommand(app, "profile",
                             "Measure a model's latency and fit what schedulers and emulated devices use",
                             "troupe profile --model-file mlp.onnx --max-batch 32");
  auto* file =
      sub->add_option("--model-file", tensors->model_file, "ONNX file: alpha and beta by batch size");
  auto* folder = sub->add_option("--model", llm->model,
                                 "Or the folder of a Hugging Face checkpoint: the terms of its steps");
  add_device(*sub, tensors->where, file);
  sub->add_option("--max-batch", tensors->max_batch, "Largest batch, in rows or sequences")
      ->check(whole_in(1, 65536))
      ->capture_default_str();
  sub->add_option("--adapter", llm->adapter, "Folder of a LoRA adapter in PEFT's format")->needs(folder);
  sub->add_option("--dtype", llm->dtype, "Of the weights and the KV cache: f32, bf16 or f16")
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--threads", llm->threads, "That compute a step")
      ->check(whole_in(1, 1024))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--max-context", llm->max_context, "Longest sequence, in tokens")
      ->check(whole_in(2, 1 << 20))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--prefill-chunk", llm->prefill_chunk, "Tokens of prompts in a step, at most")
      ->check(whole_in(1, 1 << 20))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--kv-mb", llm->kv_mb, "KV cache, in MiB: steps that need more are left out")
      ->check(whole_in(1, 1 << 22))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--seconds", llm->seconds, "Time for all steps; each runs three times at least")
      ->check(finite_in(0, 86'400))
      ->needs(folder)
      ->capture_default_str();
  sub->add_option("--output", llm->output, "File for the profile, for [[llm]] with device = \"emulated\"")
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
  infer->add_option("--output", i->output, "Where the outputs go, likewise")->required();
  add_device(*infer, i->where);
  infer->add_flag("--json", i->json, "Print one JSON document");
  infer->callback([i, &chosen] { chosen = [i] { return infer_file(*i); }; });

  add_profile(app, chosen);
  add_generate(app, chosen);
}

}  // namespace troupe

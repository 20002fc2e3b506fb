#include "tools/commands/generate.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "gpu/checkpoint/adapter.hpp"
#include "gpu/checkpoint/parameters.hpp"
#include "gpu/common/is_missing.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/llm/decoder.hpp"
#include "gpu/tokenizer/detokenizer.hpp"
#include "gpu/tokenizer/tokenizer.hpp"
#include "messages/common/json_text.hpp"
#include "tools/commands/sequence_generator.hpp"
#include "tools/common/element_name.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/common/token_blocks.hpp"

namespace troupe {
namespace {

using namespace llm;

/// Null: the folder has none.
std::shared_ptr<const tokenizer> tokenizer_of(const std::filesystem::path& folder) {
  if (is_missing(folder / "tokenizer.json") && is_missing(folder / "tokenizer.model")) return nullptr;
  return read_tokenizer(folder);
}

struct asked_sequence {
  sequence_request request;
  std::vector<uint32_t> logits_at;
};

asked_sequence request_of(const generate_options& o, const model_config& model, const tokenizer* words) {
  std::vector<uint32_t> logits_at;
  sequence_request r;
  if (!o.has_prompt)
    r.prompt = o.ids;
  else if (words != nullptr)
    r.prompt = words->encode(o.prompt, true, false);
  else
    throw request_refused(fmt::format(
        "{}: has no tokenizer.json and no tokenizer.model; give the prompt as --ids instead of --prompt",
        o.model));
  if (r.prompt.empty()) throw request_refused("the prompt has no tokens: give a longer --prompt, or --ids");
  r.max_tokens = o.max_tokens;
  r.sampling = o.sampling;
  if (!o.ignore_eos) r.stop = model.eos;
  if (!o.adapter.empty()) r.adapter = only_adapter;
  const auto length = static_cast<int64_t>(r.prompt.size());
  for (const auto at : o.logits_at) {
    if (at >= length || at < -length)
      throw request_refused(
          fmt::format("--logits-at {}: positions of the prompt are 0 to {}, or -1 to {} from its end", at,
                      length - 1, -length));
    logits_at.push_back(static_cast<uint32_t>(at < 0 ? length + at : at));
  }
  return {std::move(r), std::move(logits_at)};
}

int run(const generate_options& o) {
  const auto type = element_of_dtype(o.dtype);
  if (o.device != "cpu") throw request_refused(fmt::format("--device {}: only cpu is supported", o.device));
  const checkpoint files(o.model);
  const auto& model = files.config();
  const auto words = tokenizer_of(o.model);
  auto [request, logits_at] = request_of(o, model, words.get());
  const auto prompt = request.prompt;

  const auto blocks = static_cast<uint32_t>((prompt.size() + o.max_tokens) / tokens_a_block + 1);
  decoder d(model, {type, type, blocks, tokens_a_block});
  sequence_generator generator(d, {.max_sequences = 1});
  const auto id =
      generator.add(std::move(request), std::move(logits_at));  // refuses before weights are loaded
  for (uint32_t l = 0; l < files.layers(); ++l) d.load(l, files.read(l));
  if (!o.adapter.empty()) {
    d.load(only_adapter, read_adapter(o.adapter, model));
    generator.adapter_loaded(only_adapter);
  }

  std::optional<detokenizer> spoken;
  if (words) spoken.emplace(words, prompt);
  std::string text;
  const auto say = [&](const std::string& more) {
    text += more;
    if (o.json) return;
    std::fwrite(more.data(), 1, more.size(), stdout);
    std::fflush(stdout);
  };
  const auto& out = generator.sequence(id);
  for (size_t seen = 0; generator.step();)
    for (; spoken && seen < out.tokens.size(); ++seen) say(spoken->add(out.tokens[seen]));
  if (spoken) say(spoken->finish());
  if (out.failed) report("{}: the model returned no usable logits", o.model);

  if (!o.json) {
    if (!spoken) fmt::print("{}", fmt::join(out.tokens, ","));
    fmt::print("\n");
    return out.failed ? exit_failed : exit_done;
  }
  nlohmann::ordered_json doc{{"prompt_ids", prompt},
                             {"ids", out.tokens},
                             {"text", text},
                             {"finish_reason", out.failed ? "error" : to_string(out.reason)}};
  if (!o.logits_at.empty()) doc["logits"] = out.logits;
  fmt::print("{}\n", json_text(doc));
  return out.failed ? exit_failed : exit_done;
}

}  // namespace

int run_generate(const generate_options& options) {
  try {
    return run(options);
  } catch (const model_error& e) {
    report("{}", e.what());
  } catch (const request_refused& e) {
    report("generate: {}", e.what());
  }
  return exit_bad_input;
}

}  // namespace troupe

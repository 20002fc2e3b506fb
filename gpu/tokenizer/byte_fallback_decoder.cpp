#include "gpu/tokenizer/byte_fallback_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gpu/tokenizer/byte_token.hpp"
#include "gpu/tokenizer/pipeline_steps.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

/// In the order of the steps.
enum decoder_step : size_t { step_replace, step_bytes, step_fuse, step_strip, decoder_steps };
constexpr std::array<std::string_view, decoder_steps> step_names{"Replace", "ByteFallback", "Fuse", "Strip"};

decoder_step kind_of(const json_place& step) {
  const auto found = std::ranges::find(step_names, step.type());
  if (found == step_names.end()) refuse_step(step, "ByteFallback, Fuse, Replace and Strip");
  return static_cast<decoder_step>(found - step_names.begin());
}

void check_strip(const json_place& step) {
  if (step.at("content").string() != " ") step.at("content").refuse("is not a space");
  for (const auto& [key, value] : {std::pair{"start", 1}, std::pair{"stop", 0}})
    if (const auto place = step.at(key); step.object().at(key) != value)
      place.refuse(fmt::format("is not {}", value));
}

}  // namespace

std::string byte_fallback_decoder::bytes_of(std::string_view token_text) const {
  if (const auto byte = byte_of_token(token_text)) return std::string(1, static_cast<char>(*byte));
  std::string out{token_text};
  for (const auto& [what, by] : replacements) out = replaced(out, what, by);
  return out;
}

byte_fallback_decoder read_byte_fallback_decoder(const json_place& decoder) {
  byte_fallback_decoder out;
  std::array<bool, decoder_steps> seen{};
  for (const auto& step : pipeline_steps(decoder, "decoders")) {
    const auto kind = kind_of(step);
    if (std::any_of(seen.begin() + kind + 1, seen.end(), [](bool later) { return later; }))
      step.refuse("is out of order: supported are Replace, ByteFallback, Fuse and Strip, in this order");
    seen[kind] = true;
    if (kind == step_replace) {
      const auto what = step.at("pattern").at("String");
      if (what.string().empty()) what.refuse("is empty");
      out.replacements.emplace_back(what.string(), step.at("content").string());
    }
    if (kind == step_strip) {
      if (!seen[step_fuse])
        step.refuse("is not behind a Fuse, so it changes every token, which is not supported");
      check_strip(step);
      out.strips_space = true;
    }
  }
  if (!seen[step_bytes]) decoder.refuse("has no ByteFallback, which a model with byte_fallback needs");
  return out;
}

}  // namespace troupe::llm

#include "gpu/tokenizer/word_steps.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/metaspace.hpp"
#include "gpu/tokenizer/pattern_dialect.hpp"
#include "gpu/tokenizer/pipeline_steps.hpp"
#include "gpu/tokenizer/split_pattern.hpp"

namespace troupe::llm {

namespace {

/// Calls `use` with parts of `whole`, of which the first one may be at the start of the text.
class part_marker {
 public:
  part_marker(const text_part& whole, const std::function<void(const text_part&)>& use)
      : at_start_(whole.at_start), use_(use) {}

  void operator()(std::string_view text) { use_({text, std::exchange(at_start_, false)}); }

 private:
  bool at_start_;
  const std::function<void(const text_part&)>& use_;
};

word_step by_pattern(const json_place& place, const std::string& pattern, bool only_matches = false) {
  try {
    return [compiled = std::make_shared<const split_pattern>(to_pcre2(pattern)), only_matches](
               const text_part& part, const auto& use) {
      part_marker mark(part, use);
      if (only_matches)
        compiled->matches(part.text, std::ref(mark));
      else
        compiled->split(part.text, std::ref(mark));
    };
  } catch (const model_error& e) {
    place.refuse(e.what());
  }
}

/// A delimiter belongs to the part before it; another one right behind it is a part by itself.
void split_behind(const text_part& part, std::string_view delimiter,
                  const std::function<void(const text_part&)>& use) {
  part_marker mark(part, use);
  for (auto text = part.text; !text.empty();) {
    const auto found = text.find(delimiter);
    const auto size = found == std::string_view::npos ? text.size() : found + delimiter.size();
    mark(text.substr(0, size));
    text.remove_prefix(size);
  }
}

word_step behind(const json_place& delimiter) {
  if (delimiter.string().empty()) delimiter.refuse("is empty");
  return
      [text = delimiter.string()](const text_part& part, const auto& use) { split_behind(part, text, use); };
}

word_step read_split(const json_place& place) {
  const auto behavior = place.at("behavior"), pattern = place.at("pattern");
  const bool inverted = place.boolean("invert", false);
  const auto refuse = [&](std::string_view supported) {
    behavior.refuse(fmt::format("is '{}'{}, which is not supported; supported: {}", behavior.string(),
                                inverted ? " with invert" : "", supported));
  };
  if (const auto delimiter = pattern.find("String")) {
    if (behavior.string() != "MergedWithPrevious" || inverted) refuse("MergedWithPrevious of a String");
    return behind(*delimiter);
  }
  const bool only_matches = inverted && behavior.string() == "Removed";
  if (!only_matches && (behavior.string() != "Isolated" || inverted))
    refuse("Isolated, and Removed with invert, of a Regex");
  return by_pattern(place, pattern.at("Regex").string(), only_matches);
}

word_step metaspace_step(const json_place& place) {
  return [m = read_metaspace(place)](const text_part& part, const auto& use) {
    part_marker mark(part, use);
    m.each_word(m.rewritten(part.text, part.at_start), std::ref(mark));
  };
}

}  // namespace

std::vector<word_step> read_byte_level_steps(const json_place& pre_tokenizer) {
  std::vector<word_step> out;
  const auto steps = pipeline_steps(pre_tokenizer, "pretokenizers");
  for (const auto& step : steps) {
    if (step.type() == "ByteLevel") {
      if (step.boolean("add_prefix_space", false))
        step.at("add_prefix_space").refuse("is true, which is not supported");
      if (step.boolean("use_regex", true)) out.push_back(by_pattern(step, gpt2_pattern));
      if (&step != &steps.back())
        step.refuse("is not the last step of the pre-tokenizer, which is not supported");
      return out;
    }
    if (step.type() != "Split") refuse_step(step, "Split and ByteLevel");
    out.push_back(read_split(step));
  }
  pre_tokenizer.refuse("does not end in ByteLevel, as it must without model.byte_fallback");
}

std::vector<word_step> read_character_steps(const json_place& pre_tokenizer) {
  std::vector<word_step> out;
  for (const auto& step : pipeline_steps(pre_tokenizer, "pretokenizers")) {
    if (step.type() == "Metaspace")
      out.push_back(metaspace_step(step));
    else if (step.type() == "Split")
      out.push_back(read_split(step));
    else
      refuse_step(step, "Metaspace and Split");
  }
  return out;
}

}  // namespace troupe::llm

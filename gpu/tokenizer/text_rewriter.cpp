#include "gpu/tokenizer/text_rewriter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/character_map.hpp"
#include "gpu/tokenizer/metaspace.hpp"
#include "gpu/tokenizer/pattern_dialect.hpp"
#include "gpu/tokenizer/pipeline_steps.hpp"
#include "gpu/tokenizer/split_pattern.hpp"
#include "gpu/tokenizer/unicode.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "messages/common/base64.hpp"

namespace troupe::llm {
namespace {

constexpr size_t longest_content = 256;
/// How much longer a text may become; compatibility forms make some characters eleven times as long.
constexpr size_t max_growth = 16, free_growth = 4096;

/// Calls `use(character, its bytes)` for every character.
template <class F>
void each_character(std::string_view text, F&& use) {
  while (!text.empty()) {
    size_t length = 0;
    const auto c = first_character(text, length);
    use(c, text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// Without control characters but tabs and ends of lines, and each white space as a space.
std::string cleaned(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c, std::string_view bytes) {
    if (c == '\t' || c == '\n' || c == '\r')
      out += ' ';
    else if (c != 0xfffd && !is_control(c))
      out += is_white_space(c) ? " " : bytes;
  });
  return out;
}

std::string with_spaces_around_ideographs(std::string_view text) {
  std::string out;
  each_character(text, [&](char32_t c, std::string_view bytes) {
    const bool alone = is_ideograph(c);
    out += alone ? " " : "";
    out += bytes;
    out += alone ? " " : "";
  });
  return out;
}

text_rewriter bert_normalizer(const json_place& place) {
  const bool clean = place.boolean("clean_text", true);
  const bool ideographs = place.boolean("handle_chinese_chars", true);
  const bool lower = place.boolean("lowercase", true);
  const bool accents = !place.boolean("strip_accents", lower);
  return [=](std::string_view text) {
    std::string out{text};
    if (clean) out = cleaned(out);
    if (ideographs) out = with_spaces_around_ideographs(out);
    if (!accents) out = without_nonspacing_marks(normalize(out, normal_form::nfd));
    if (lower) out = lowercase(out);
    return out;
  };
}

std::string matches_replaced(std::string_view text, const split_pattern& what, std::string_view by) {
  std::string out;
  for (auto found = what.find(text); found && found->end > found->begin; found = what.find(text)) {
    out += text.substr(0, found->begin);
    out += by;
    text.remove_prefix(found->end);
  }
  return out += text;
}

std::shared_ptr<const split_pattern> compiled(const json_place& regex) {
  try {
    return std::make_shared<const split_pattern>(to_pcre2(regex.string()));
  } catch (const model_error& e) {
    regex.refuse(e.what());
  }
}

/// A text that a step inserts.
std::string inserted(const json_place& place) {
  if (place.string().size() > longest_content)
    place.refuse(fmt::format("has more than {} bytes", longest_content));
  return place.string();
}

text_rewriter replacement(const json_place& place) {
  const auto by = inserted(place.at("content"));
  const auto pattern = place.at("pattern");
  if (const auto plain = pattern.find("String")) {
    if (plain->string().empty()) plain->refuse("is empty");
    return [what = plain->string(), by](std::string_view text) { return replaced(text, what, by); };
  }
  return [what = compiled(pattern.at("Regex")), by](std::string_view text) {
    return matches_replaced(text, *what, by);
  };
}

text_rewriter stripping(const json_place& place) {
  const bool left = place.boolean("strip_left", true), right = place.boolean("strip_right", true);
  return [=](std::string_view text) {
    size_t begin = text.size(), end = 0, at = 0;
    each_character(text, [&](char32_t c, std::string_view bytes) {
      if (!is_white_space(c)) begin = std::min(begin, at), end = at + bytes.size();
      at += bytes.size();
    });
    if (end == 0) return std::string{left || right ? std::string_view{} : text};
    return std::string{text.substr(left ? begin : 0, (right ? end : text.size()) - (left ? begin : 0))};
  };
}

text_rewriter precompiled(const json_place& place, const std::string& file) {
  const auto table = from_base64(place.at("precompiled_charsmap").string());
  if (!table) place.at("precompiled_charsmap").refuse("is not base64");
  if (table->empty()) return [](std::string_view text) { return std::string(text); };
  return [map = std::make_shared<const character_map>(*table, file)](std::string_view text) {
    return (*map)(text);
  };
}

text_rewriter sequence(std::vector<text_rewriter> steps) {
  return [steps = std::move(steps)](std::string_view text) {
    std::string out{text};
    for (const auto& s : steps) {
      out = s(out);
      if (out.size() > max_growth * text.size() + free_growth)
        throw request_refused("the tokenizer's normalizer makes this text too long: send a shorter one");
    }
    return out;
  };
}

/// Appends the parts of `text` between characters that are `gone`; characters that are `alone` are words.
template <class Gone, class Alone>
void split(std::string_view text, Gone&& gone, Alone&& alone, std::vector<std::string>& to) {
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) to.push_back(std::exchange(word, {}));
  };
  each_character(text, [&](char32_t c, std::string_view bytes) {
    const bool one = alone(c);
    if (one || gone(c)) end_word();
    if (one)
      to.emplace_back(bytes);
    else if (!gone(c))
      word += bytes;
  });
  end_word();
}

constexpr auto never = [](char32_t) { return false; };

/// Also what ASCII has beyond the categories P*: $+<=>^`|~.
bool is_bert_punctuation(char32_t c) {
  return (c > 0x20 && c < 0x7f && std::isalnum(static_cast<int>(c)) == 0) || is_punctuation(c);
}

word_splitter metaspace_words(const json_place& place) {
  auto m = read_metaspace(place);
  if (m.prefix == metaspace::prefixes::first)
    place.at("prepend_scheme").refuse("is 'first', which is not supported; supported: always and never");
  return [m = std::move(m)](std::string_view text, std::vector<std::string>& to) {
    m.each_word(m.rewritten(text, false), [&](std::string_view word) { to.emplace_back(word); });
  };
}

text_rewriter normalizer_step(const json_place& place, const std::string& file) {
  const auto& type = place.type();
  const auto form = [](normal_form f) { return [f](std::string_view text) { return normalize(text, f); }; };
  if (type == "BertNormalizer") return bert_normalizer(place);
  if (type == "Lowercase") return lowercase;
  if (type == "NFC") return form(normal_form::nfc);
  if (type == "NFD") return form(normal_form::nfd);
  if (type == "NFKC") return form(normal_form::nfkc);
  if (type == "NFKD") return form(normal_form::nfkd);
  if (type == "Precompiled") return precompiled(place, file);
  if (type == "Replace") return replacement(place);
  if (type == "Strip") return stripping(place);
  if (type == "StripAccents") return without_marks;
  if (type == "Prepend")
    return [before = inserted(place.at("prepend"))](std::string_view text) {
      return text.empty() ? std::string{} : before + std::string(text);
    };
  refuse_step(place,
              "BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Sequence, "
              "Strip and StripAccents");
}

word_splitter pre_tokenizer_step(const json_place& place) {
  const auto& type = place.type();
  if (type == "BertPreTokenizer")
    return [](std::string_view text, std::vector<std::string>& to) {
      split(text, is_white_space, is_bert_punctuation, to);
    };
  if (type == "WhitespaceSplit")
    return
        [](std::string_view text, std::vector<std::string>& to) { split(text, is_white_space, never, to); };
  if (type == "Metaspace") return metaspace_words(place);
  refuse_step(place, "BertPreTokenizer, Metaspace, Sequence and WhitespaceSplit");
}

}  // namespace

text_rewriter read_normalizer(const json_place& normalizer, const std::string& file) {
  std::vector<text_rewriter> steps;
  for (const auto& step : pipeline_steps(normalizer, "normalizers"))
    steps.push_back(normalizer_step(step, file));
  return sequence(std::move(steps));
}

word_splitter read_pre_tokenizer(const json_place& pre_tokenizer) {
  std::vector<word_splitter> steps;
  for (const auto& step : pipeline_steps(pre_tokenizer, "pretokenizers"))
    steps.push_back(pre_tokenizer_step(step));
  return [steps = std::move(steps)](std::string_view text, std::vector<std::string>& to) {
    std::vector<std::string> words{std::string(text)};
    for (const auto& s : steps) {
      std::vector<std::string> parts;
      for (const auto& w : words) s(w, parts);
      words = std::move(parts);
    }
    std::ranges::move(words, std::back_inserter(to));
  };
}

}  // namespace troupe::llm

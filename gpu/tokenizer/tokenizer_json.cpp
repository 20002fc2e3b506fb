#include "gpu/tokenizer/tokenizer_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/byte_alphabet.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/pattern_dialect.hpp"
#include "gpu/tokenizer/read_added_tokens.hpp"
#include "gpu/tokenizer/unicode.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {

namespace {

using json = nlohmann::json;

constexpr size_t max_split_patterns = 16;

/// The elements of a Sequence, or the value itself.
std::vector<json_place> flatten(const json_place& place, const char* elements) {
  if (place.type() != "Sequence") return {place};
  std::vector<json_place> all;
  const auto list = place.at(elements);
  for (size_t i = 0; i < list.array().size(); ++i) {
    const auto inner = flatten(list.element(i), elements);
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

class tokenizer_reader {
 public:
  explicit tokenizer_reader(const json_place& root) : root_(root) {}

  tokenizer_json read() {
    const auto model = root_.at("model");
    // files from before 2020 have no type
    if (const auto type = model.find("type"); type && type->string() != "BPE")
      type->refuse(fmt::format("is '{}': only BPE is supported", type->string()));
    read_options(model);
    read_vocabulary(model.at("vocab"));
    read_merges(model.at("merges"));
    if (const auto normalizer = root_.find("normalizer")) read_normalizer(*normalizer);
    read_added();
    read_pre_tokenizer(root_.at("pre_tokenizer"));
    if (const auto processor = root_.find("post_processor")) read_post_processor(*processor);
    for (const auto& decoder : flatten(root_.at("decoder"), "decoders")) {
      if (decoder.type() != "ByteLevel") refuse_type(decoder, "ByteLevel");
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] static void refuse_type(const json_place& place, std::string_view supported) {
    place.at("type").refuse(
        fmt::format("is '{}', which is not supported; supported: {}", place.type(), supported));
  }

  static void must_be(const json_place& place, const char* key, bool value) {
    if (place.boolean(key, value) != value)
      place.at(key).refuse(fmt::format("is {}, which is not supported", !value));
  }

  void read_options(const json_place& model) {
    for (const char* key : {"byte_fallback", "fuse_unk"}) must_be(model, key, false);
    for (const char* key : {"unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const auto option = model.find(key);
      if (option && !option->string().empty())
        option->refuse(fmt::format("is '{}': it must be empty for byte-level BPE", option->string()));
    }
    if (const auto dropout = model.find("dropout"))
      dropout->refuse("is set: the tokens of a text would be random");
    result_.ignore_merges = model.boolean("ignore_merges", false);
  }

  void read_vocabulary(const json_place& vocab) {
    if (vocab.object().empty()) vocab.refuse("is empty");
    for (const auto& [text, id_value] : vocab.object().items()) {
      const auto place = vocab.member(text, id_value);
      const auto id = place.id();
      if (text.empty()) place.refuse("is an empty token");
      auto& entry = define(place, id);
      auto bytes = bytes_of(text);
      entry = {bytes ? std::move(*bytes) : text, true, bytes.has_value()};
      ids_.emplace(text, id);
    }
  }

  /// Defines the entry of an id; throws if the id is defined already.
  tokenizer_json::entry& define(const json_place& place, token id) {
    const auto index = static_cast<size_t>(id);
    auto& all = result_.vocabulary;
    if (index >= all.size()) all.resize(index + 1);
    if (all[index].defined) place.refuse(fmt::format("has the id {}, like another token", id));
    all[index].defined = true;
    return all[index];
  }

  void read_merges(const json_place& merges) {
    std::unordered_set<uint64_t> pairs;
    for (size_t i = 0; i < merges.array().size(); ++i) {
      const auto merge = read_merge(merges.element(i), merges.array()[i]);
      if (!pairs.insert(static_cast<uint64_t>(merge.left) << 32 | static_cast<uint32_t>(merge.right)).second)
        merges.element(i).refuse("repeats an earlier merge");
      result_.merges.push_back(merge);
    }
  }

  bpe_merge read_merge(const json_place& place, const json& value) const {
    std::string left, right;
    if (value.is_array()) {
      if (value.size() != 2) place.refuse("is not a pair of tokens");
      left = place.element(0).string();
      right = place.element(1).string();
    } else {
      const auto& both = place.string();
      const auto space = both.find(' ');
      if (space == std::string::npos || both.find(' ', space + 1) != std::string::npos)
        place.refuse("is not a pair of tokens like \"a b\"");
      left = both.substr(0, space);
      right = both.substr(space + 1);
    }
    const auto id = [&](const std::string& text) {
      const auto found = ids_.find(text);
      if (found == ids_.end()) place.refuse(fmt::format("names '{}', which model.vocab does not have", text));
      return found->second;
    };
    return {id(left), id(right), id(left + right)};
  }

  void read_normalizer(const json_place& normalizer) {
    for (const auto& step : flatten(normalizer, "normalizers")) {
      if (step.type() != "NFC") refuse_type(step, "NFC");
      result_.nfc = true;
    }
  }

  void read_added() {
    auto tokens = read_added_tokens(root_);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto& t = tokens[i];
      const auto place = root_.at("added_tokens").element(i);
      const auto known = ids_.find(t.content);
      if (known == ids_.end()) {
        define(place, t.id) = {t.normalized && result_.nfc ? nfc(t.content) : t.content, true, false};
      } else if (known->second != t.id) {
        place.refuse(fmt::format("is '{}' with the id {}, but in model.vocab that has {}", t.content, t.id,
                                 known->second));
      }
    }
    const auto keep = [](std::string_view text) { return std::string(text); };
    result_.added = added_tokens(std::move(tokens), result_.nfc ? nfc : +keep);
  }

  void read_pre_tokenizer(const json_place& pre_tokenizer) {
    const auto steps = flatten(pre_tokenizer, "pretokenizers");
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      if (step.type() == "ByteLevel") {
        must_be(step, "add_prefix_space", false);
        if (step.boolean("use_regex", true)) add_pattern(step, gpt2_pattern);
        if (i + 1 < steps.size())
          step.refuse("is not the last step of the pre-tokenizer, which is not supported");
        return;
      }
      if (step.type() != "Split") refuse_type(step, "Split and ByteLevel");
      must_be(step, "invert", false);
      if (const auto behavior = step.at("behavior"); behavior.string() != "Isolated")
        behavior.refuse(fmt::format("is '{}': only Isolated is supported", behavior.string()));
      add_pattern(step, step.at("pattern").at("Regex").string());
    }
    pre_tokenizer.refuse("does not end in ByteLevel: only byte-level BPE is supported");
  }

  void add_pattern(const json_place& place, const std::string& pattern) {
    if (result_.patterns.size() == max_split_patterns) place.refuse("is one pattern more than are supported");
    try {
      result_.patterns.emplace_back(to_pcre2(pattern));
    } catch (const model_error& e) {
      place.refuse(e.what());
    }
  }

  void read_post_processor(const json_place& processor) {
    for (const auto& step : flatten(processor, "processors")) {
      if (step.type() == "ByteLevel") continue;  // changes only offsets, which are not used
      if (step.type() != "TemplateProcessing") refuse_type(step, "ByteLevel and TemplateProcessing");
      read_template(step);
    }
  }

  /// Reads the tokens that a template adds around a text, outside of those of earlier templates.
  void read_template(const json_place& step) {
    std::vector<token> prefix, suffix;
    bool text = false;
    const auto single = step.at("single");
    for (size_t i = 0; i < single.array().size(); ++i) {
      const auto item = single.element(i);
      if (const auto sequence = item.find("Sequence")) {
        if (text || sequence->at("id").string() != "A")
          sequence->refuse("must be the text A, once in the template");
        text = true;
        continue;
      }
      const auto name = item.at("SpecialToken").at("id");
      const auto ids = template_ids(step, name);
      auto& side = text ? suffix : prefix;
      side.insert(side.end(), ids.begin(), ids.end());
    }
    if (!text) single.refuse("has no place for the text");
    prefix.insert(prefix.end(), result_.prefix.begin(), result_.prefix.end());
    result_.suffix.insert(result_.suffix.end(), suffix.begin(), suffix.end());
    result_.prefix = std::move(prefix);
    if (result_.prefix.size() + result_.suffix.size() > max_special_tokens)
      step.refuse("puts too many tokens around a text");
  }

  std::vector<token> template_ids(const json_place& step, const json_place& name) const {
    const auto token_place = step.at("special_tokens").find(name.string().c_str());
    if (!token_place) name.refuse(fmt::format("is '{}', which special_tokens does not have", name.string()));
    const auto list = token_place->at("ids");
    std::vector<token> ids;
    for (size_t i = 0; i < list.array().size(); ++i) {
      const auto id = list.element(i).id();
      if (static_cast<size_t>(id) >= result_.vocabulary.size() ||
          !result_.vocabulary[static_cast<size_t>(id)].defined)
        list.element(i).refuse(fmt::format("is {}, which is not the id of a token", id));
      ids.push_back(id);
    }
    return ids;
  }

  static constexpr size_t max_special_tokens = 1024;

  json_place root_;
  tokenizer_json result_;
  std::unordered_map<std::string, token> ids_;  // of the vocabulary, by the file's spelling
};

}  // namespace

tokenizer_json read_tokenizer_json(std::string_view text, const std::string& file) {
  const auto document = parse_json(text);
  if (document.is_discarded())
    throw model_error(fmt::format("{}: is not JSON, or is nested too deeply: is the file complete?", file));
  return tokenizer_reader(json_place(file, document)).read();
}

bool is_from_sentencepiece(std::string_view text) {
  const auto document = parse_json(text);
  const auto model = document.is_object() ? document.find("model") : document.end();
  if (model == document.end() || !model->is_object()) return false;
  const auto fallback = model->find("byte_fallback");
  return fallback != model->end() && *fallback == true;
}

}  // namespace troupe::llm

#include "gpu/tokenizer/tokenizer_json.hpp"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "gpu/common/model_error.hpp"
#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/byte_alphabet.hpp"
#include "gpu/tokenizer/byte_fallback_decoder.hpp"
#include "gpu/tokenizer/byte_token.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/pipeline_steps.hpp"
#include "gpu/tokenizer/read_added_tokens.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {

namespace {

using json = nlohmann::json;

class tokenizer_reader {
 public:
  tokenizer_reader(const json_place& root, const std::string& file) : root_(root), file_(file) {}

  tokenizer_json read() {
    const auto model = root_.at("model");
    // files from before 2020 have no type
    if (const auto type = model.find("type"); type && type->string() != "BPE")
      type->refuse(fmt::format("is '{}': only BPE is supported", type->string()));
    read_options(model);
    read_decoder(root_.at("decoder"));
    read_vocabulary(model.at("vocab"));
    if (result_.byte_fallback) check_bytes(model);
    read_merges(model.at("merges"));
    if (const auto normalizer = root_.find("normalizer")) read_normalizer_of(*normalizer);
    read_added();
    read_steps();
    if (const auto processor = root_.find("post_processor"))
      result_.around = read_surrounding_tokens(*processor, [this](token t) {
        return static_cast<size_t>(t) < result_.vocabulary.size() &&
               result_.vocabulary[static_cast<size_t>(t)].defined;
      });
    return std::move(result_);
  }

 private:
  void read_options(const json_place& model) {
    result_.byte_fallback = model.boolean("byte_fallback", false);
    result_.ignore_merges = model.boolean("ignore_merges", false);
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) must_be_empty(model, key);
    if (const auto dropout = model.find("dropout"))
      dropout->refuse("is set: the tokens of a text would be random");
    if (result_.byte_fallback) return;  // then no character is unknown
    must_be_empty(model, "unk_token");
    if (model.boolean("fuse_unk", false)) model.at("fuse_unk").refuse("is true, which is not supported");
  }

  static void must_be_empty(const json_place& model, const char* key) {
    const auto option = model.find(key);
    if (option && !option->string().empty())
      option->refuse(fmt::format("is '{}', which is not supported: it must be empty", option->string()));
  }

  void read_decoder(const json_place& decoder) {
    if (result_.byte_fallback) {
      decoder_ = read_byte_fallback_decoder(decoder);
      result_.strips_space = decoder_.strips_space;
      return;
    }
    for (const auto& step : pipeline_steps(decoder, "decoders"))
      if (step.type() != "ByteLevel") refuse_step(step, "ByteLevel");
  }

  void read_vocabulary(const json_place& vocab) {
    if (vocab.object().empty()) vocab.refuse("is empty");
    for (const auto& [text, id_value] : vocab.object().items()) {
      const auto place = vocab.member(text, id_value);
      const auto id = place.id();
      if (text.empty()) place.refuse("is an empty token");
      define(place, id) = entry_of(text);
      ids_.emplace(text, id);
    }
  }

  /// Of a token of the model.
  tokenizer_json::entry entry_of(const std::string& text) const {
    if (result_.byte_fallback) return {decoder_.bytes_of(text), text, true, true};
    auto bytes = bytes_of(text);
    const bool plain = bytes.has_value();
    return {plain ? std::move(*bytes) : text, "", true, plain};
  }

  /// A byte needs no token if it is a character that has one: Gemma's vocabulary has a tab, and no <0x09>.
  void check_bytes(const json_place& model) const {
    for (int byte = 0; byte < 256; ++byte) {
      const auto name = byte_token(static_cast<uint8_t>(byte));
      if (!ids_.contains(name) && (byte >= 0x80 || !ids_.contains(std::string(1, static_cast<char>(byte)))))
        model.at("vocab").refuse(fmt::format("has no '{}', which byte_fallback needs", name));
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
    for (const auto& part : {left, right})
      if (result_.byte_fallback && byte_of_token(part))
        place.refuse(fmt::format("joins '{}', a byte, which is not supported", part));
    return {id(left), id(right), id(left + right)};
  }

  void read_normalizer_of(const json_place& normalizer) {
    for (const auto& step : pipeline_steps(normalizer, "normalizers"))
      if (const auto& type = step.type(); type != "NFC" && type != "Prepend" && type != "Replace")
        refuse_step(step, "NFC, Prepend and Replace");
    result_.normalizer = read_normalizer(normalizer, file_);
  }

  /// The text that an added token is matched in, and decodes to.
  std::string normalized(const json_place& place, const std::string& content) const {
    try {
      return result_.normalizer(content);
    } catch (const request_refused&) {
      place.refuse("becomes too long by the normalizer");
    }
  }

  void read_added() {
    auto tokens = read_added_tokens(root_);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto& t = tokens[i];
      const auto place = root_.at("added_tokens").element(i);
      const auto known = ids_.find(t.content);
      auto text = t.normalized && result_.normalizer ? normalized(place, t.content) : t.content;
      if (result_.byte_fallback) text = decoder_.bytes_of(text);
      if (known == ids_.end()) {
        define(place, t.id) = {std::move(text), "", true, false};
      } else if (known->second != t.id) {
        place.refuse(fmt::format("is '{}' with the id {}, but in model.vocab that has {}", t.content, t.id,
                                 known->second));
      } else if (result_.byte_fallback) {
        result_.vocabulary[static_cast<size_t>(t.id)].bytes = std::move(text);
      }
    }
    const auto as_it_is = [](std::string_view text) { return std::string(text); };
    result_.added = added_tokens(std::move(tokens), result_.normalizer ? result_.normalizer : as_it_is);
  }

  void read_steps() {
    if (!result_.byte_fallback) {
      result_.steps = read_byte_level_steps(root_.at("pre_tokenizer"));
    } else if (const auto pre_tokenizer = root_.find("pre_tokenizer")) {
      result_.steps = read_character_steps(*pre_tokenizer);
    }
  }

  json_place root_;
  const std::string& file_;
  tokenizer_json result_;
  byte_fallback_decoder decoder_;               // with byte_fallback
  std::unordered_map<std::string, token> ids_;  // of the vocabulary, by the file's spelling
};

}  // namespace

tokenizer_json read_tokenizer_json(std::string_view text, const std::string& file) {
  const auto document = parse_json(text);
  if (document.is_discarded())
    throw model_error(fmt::format("{}: is not JSON, or is nested too deeply: is the file complete?", file));
  return tokenizer_reader(json_place(file, document), file).read();
}

bool is_from_sentencepiece(std::string_view text) {
  const auto document = parse_json(text);
  const auto model = document.is_object() ? document.find("model") : document.end();
  if (model == document.end() || !model->is_object()) return false;
  const auto fallback = model->find("byte_fallback");
  return fallback != model->end() && *fallback == true;
}

}  // namespace troupe::llm

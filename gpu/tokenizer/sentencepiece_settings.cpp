#include <fmt/format.h>

#include <charconv>
#include <set>

#include "gpu/common/is_missing.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {

namespace {

constexpr uint64_t max_settings_bytes = 64 << 20;

class settings_reader {
 public:
  /// No-op if there is no such file.
  void read(const std::filesystem::path& file, void (settings_reader::*use)(const json_place&)) {
    if (is_missing(file)) return;
    const auto name = file.string();
    const auto document = parse_json(read_text(file, max_settings_bytes));
    if (document.is_discarded())
      throw model_error(fmt::format("{}: is not JSON, or is nested too deeply: is the file complete?", name));
    (this->*use)(json_place(name, document));
  }

  void use_model(const json_place& config) {
    const auto type = config.find("model_type");
    model_type_ = type ? type->string() : "";
  }

  void use_config(const json_place& config) {
    result_.add_bos = config.boolean("add_bos_token", true);
    result_.add_eos = config.boolean("add_eos_token", false);
    const auto type = config.find("tokenizer_class");
    const bool llama = type && (type->string() == "LlamaTokenizer" || type->string() == "LlamaTokenizerFast");
    result_.prefix_space = config.boolean("add_prefix_space", true);
    result_.space_after_added = config.boolean("legacy", !llama || ignores_class());
    result_.llama_rules = ignores_class() ? !result_.space_after_added : llama;
    const auto added = config.find("added_tokens_decoder");
    if (!added) return;
    for (const auto& [key, value] : added->object().items()) {
      const auto place = added->member(key, value);
      uint64_t id = max_vocabulary_size;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc{} || end != key.data() + key.size() || id >= max_vocabulary_size)
        place.refuse(
            fmt::format("has a key that is not a token id: a whole number below {}", max_vocabulary_size));
      const bool special = place.boolean("special", false);
      add(place,
          {static_cast<token>(id), place.at("content").string(), special, place.boolean("single_word", false),
           place.boolean("lstrip", false), place.boolean("rstrip", false), false});
    }
  }

  void use_added_tokens(const json_place& tokens) {
    for (const auto& [content, id] : tokens.object().items()) {
      if (contents_.contains(content)) continue;  // tokenizer_config.json has more details
      const auto place = tokens.member(content, id);
      added_token t{place.id(), content};
      t.special = true;
      add(place, std::move(t));
    }
  }

  sentencepiece_settings take() { return std::move(result_); }

 private:
  /// Transformers ignores the tokenizer's class in folders of these models.
  bool ignores_class() const {
    return model_type_ == "mistral" || model_type_ == "mixtral" || model_type_ == "phi3";
  }

  void add(const json_place& place, added_token t) {
    if (t.content.empty() || t.content.size() > longest_added_token)
      place.refuse(fmt::format("has a content of {} bytes: it must have 1 to {}", t.content.size(),
                               longest_added_token));
    if (!contents_.insert(t.content).second)
      place.refuse(fmt::format("is '{}', like another token", t.content));
    if (!ids_.insert(t.id).second) place.refuse(fmt::format("has the id {}, like another token", t.id));
    result_.added.push_back(std::move(t));
  }

  std::string model_type_;
  sentencepiece_settings result_;
  std::set<std::string> contents_;
  std::set<token> ids_;
};

}  // namespace

sentencepiece_settings read_sentencepiece_settings(const std::filesystem::path& folder) {
  settings_reader r;
  r.read(folder / "config.json", &settings_reader::use_model);
  r.read(folder / "tokenizer_config.json", &settings_reader::use_config);
  r.read(folder / "added_tokens.json", &settings_reader::use_added_tokens);
  return r.take();
}

}  // namespace troupe::llm

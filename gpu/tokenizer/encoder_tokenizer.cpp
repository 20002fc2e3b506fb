#include "gpu/tokenizer/encoder_tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/added_tokens.hpp"
#include "gpu/tokenizer/bpe_tokenizer.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/read_added_tokens.hpp"
#include "gpu/tokenizer/text_rewriter.hpp"
#include "gpu/tokenizer/tokenizer_json.hpp"
#include "gpu/tokenizer/unigram.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "gpu/tokenizer/wordpiece.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe::llm {
namespace {

constexpr size_t longest_template = 64, longest_token = 512;
constexpr token longest_word = 1000;  // in characters

/// An item of a template: tokens, or text 0 or 1.
struct template_item {
  std::vector<token> tokens;
  std::optional<size_t> text;
  uint8_t type = 0;
};
using text_template = std::vector<template_item>;

size_t tokens_in(const text_template& t) {
  size_t n = 0;
  for (const auto& item : t) n += item.tokens.size();
  return n;
}

class json_encoder_tokenizer final : public encoder_tokenizer {
 public:
  struct parts {
    std::shared_ptr<const tokenizer>
        bpe;  ///< of byte-level BPE, which splits a whole text; null: the next four
    text_rewriter normalizer;
    word_splitter pre_tokenizer;
    std::unique_ptr<const subword_model> model;
    added_tokens added;
    text_template single, pair;  ///< pair: empty if there is none
    uint32_t vocabulary = 0;
    std::string file;
  };
  explicit json_encoder_tokenizer(parts p) : parts_(std::move(p)) {}

  encoded_text encode(std::vector<token> text, size_t max_tokens) const override {
    const auto around = added(false);
    const auto room = max_tokens - std::min(max_tokens, around);
    const auto cut = text.size() - std::min(text.size(), room);
    text.resize(text.size() - cut);
    return filled(parts_.single, {std::move(text)}, cut);
  }

  encoded_text encode(std::vector<token> first, std::vector<token> second, size_t max_tokens) const override {
    if (parts_.pair.empty())
      throw model_error(fmt::format("{}: post_processor has no template for pairs of texts", parts_.file));
    const auto whole = first.size() + second.size(), around = added(true);
    cut_longest(first, second, max_tokens - std::min(max_tokens, around));
    const auto cut = whole - first.size() - second.size();
    return filled(parts_.pair, {std::move(first), std::move(second)}, cut);
  }

  size_t added(bool pair) const override { return tokens_in(pair ? parts_.pair : parts_.single); }
  uint32_t vocabulary() const override { return parts_.vocabulary; }

  std::vector<token> tokens(std::string_view text) const override {
    if (parts_.bpe) return parts_.bpe->encode(text, false, true);
    std::string corrected;
    if (!is_utf8(text)) text = corrected = replace_invalid(text);
    std::vector<token> ids;
    std::vector<std::string> words;
    for (const auto& raw : parts_.added.split(text, false, true)) {
      if (raw.id) {
        ids.push_back(*raw.id);
        continue;
      }
      const auto normal = parts_.normalizer ? parts_.normalizer(raw.text) : std::string(raw.text);
      for (const auto& part : parts_.added.split(normal, true, true)) {
        if (part.id) {
          ids.push_back(*part.id);
          continue;
        }
        words.clear();
        parts_.pre_tokenizer(part.text, words);
        for (const auto& w : words) parts_.model->append(w, ids);
      }
    }
    return ids;
  }

 private:
  /// To at most `room` tokens, as the strategy "longest_first" of the package tokenizers does.
  static void cut_longest(std::vector<token>& a, std::vector<token>& b, size_t room) {
    if (a.size() + b.size() <= room) return;
    auto& shorter = a.size() > b.size() ? b : a;
    auto& longer = a.size() > b.size() ? a : b;
    auto few = shorter.size();
    auto many = few > room ? few : std::max(few, room - few);
    if (few + many > room) {
      few = room / 2;
      many = few + room % 2;
    }
    shorter.resize(few);
    longer.resize(many);
  }

  static encoded_text filled(const text_template& t, const std::vector<std::vector<token>>& texts,
                             size_t cut) {
    encoded_text out;
    out.cut = cut;
    for (const auto& item : t) {
      const auto& tokens = item.text ? texts[*item.text] : item.tokens;
      out.ids.insert(out.ids.end(), tokens.begin(), tokens.end());
      out.types.insert(out.types.end(), tokens.size(), item.type);
    }
    return out;
  }

  const parts parts_;
};

class encoder_tokenizer_reader {
 public:
  explicit encoder_tokenizer_reader(const json_place& root, const std::string& file)
      : root_(root), file_(file) {}

  json_encoder_tokenizer::parts read() {
    out_.file = file_;
    if (root_.at("model").find("merges"))
      read_bpe();
    else
      read_words();
    if (const auto p = root_.find("post_processor"))
      read_post_processor(*p);
    else
      out_.single = {{{}, 0, 0}};
    return std::move(out_);
  }

 private:
  void read_words() {
    if (const auto n = root_.find("normalizer")) out_.normalizer = read_normalizer(*n, file_);
    out_.pre_tokenizer = read_pre_tokenizer(root_.at("pre_tokenizer"));
    read_model(root_.at("model"));
    read_added();
  }

  /// Its template is for language models.
  void read_bpe() {
    auto document = root_.object();
    document.erase("post_processor");
    out_.bpe = std::make_shared<const bpe_tokenizer>(read_tokenizer_json(document.dump(), file_));
    out_.vocabulary = out_.bpe->vocabulary();
  }

  void read_model(const json_place& model) {
    const auto& type = model.type();
    if (type == "WordPiece") return read_wordpiece(model);
    if (type == "Unigram") return read_unigram(model);
    model.at("type").refuse(fmt::format(
        "is '{}', which is not supported; supported: WordPiece, Unigram and byte-level BPE", type));
  }

  void read_wordpiece(const json_place& model) {
    wordpiece::options o;
    const auto vocab = model.at("vocab");
    for (const auto& [text, id] : vocab.object().items()) {
      const auto place = vocab.member(text, id);
      check_length(place, text);
      const auto t = place.id();
      ids_.emplace(text, t);
      know(t);
    }
    o.vocabulary = ids_;
    o.unknown = known(model.at("unk_token"));
    if (const auto p = model.find("continuing_subword_prefix")) {
      check_length(*p, p->string());
      o.inner_prefix = p->string();
    }
    if (const auto n = model.find("max_input_chars_per_word")) {
      if (n->id() > longest_word) n->refuse(fmt::format("is more than {}", longest_word));
      o.longest_word = static_cast<size_t>(n->id());
    }
    out_.model = std::make_unique<wordpiece>(std::move(o));
  }

  void read_unigram(const json_place& model) {
    std::vector<unigram_piece> pieces;
    const auto vocab = model.at("vocab");
    for (size_t i = 0; i < vocab.array().size(); ++i) {
      const auto entry = vocab.element(i);
      if (entry.array().size() != 2 || !entry.array()[1].is_number())
        entry.refuse("is not a piece with its score");
      pieces.push_back({entry.element(0).string(), entry.array()[1].get<double>()});
      if (pieces.back().text.empty()) entry.refuse("is an empty piece");
      check_length(entry, pieces.back().text);
      if (!ids_.emplace(pieces.back().text, static_cast<token>(i)).second)
        entry.refuse("has the text of an earlier piece");
    }
    if (pieces.empty()) vocab.refuse("is empty");
    know(static_cast<token>(pieces.size() - 1));
    const auto unknown = model.at("unk_id");
    if (static_cast<size_t>(unknown.id()) >= pieces.size()) unknown.refuse("is not the id of a piece");
    out_.model = make_unigram(std::move(pieces), unknown.id(), model.boolean("byte_fallback", false));
  }

  void read_added() {
    auto tokens = read_added_tokens(root_);
    for (const auto& t : tokens) {
      ids_.emplace(t.content, t.id);
      know(t.id);
    }
    const auto as_it_is = [](std::string_view text) { return std::string(text); };
    out_.added = added_tokens(std::move(tokens), out_.normalizer ? out_.normalizer : as_it_is);
  }

  void read_post_processor(const json_place& processor) {
    const auto& type = processor.type();
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      const auto cls = token_of(processor.at("cls")), sep = token_of(processor.at("sep"));
      const bool roberta = type == "RobertaProcessing";
      const auto second = static_cast<uint8_t>(roberta ? 0 : 1);
      out_.single = {{{cls}, {}, 0}, {{}, 0, 0}, {{sep}, {}, 0}};
      out_.pair = out_.single;
      if (roberta) out_.pair.push_back({{sep}, {}, 0});
      out_.pair.push_back({{}, 1, second});
      out_.pair.push_back({{sep}, {}, second});
      return;
    }
    if (type != "TemplateProcessing")
      processor.at("type").refuse(
          fmt::format("is '{}', which is not supported; supported: BertProcessing, RobertaProcessing and "
                      "TemplateProcessing",
                      type));
    out_.single = read_template(processor, processor.at("single"), 1);
    if (const auto pair = processor.find("pair")) out_.pair = read_template(processor, *pair, 2);
  }

  /// Of a pair of its name and its id.
  token token_of(const json_place& pair) const {
    if (pair.array().size() != 2) pair.refuse("is not a name with an id");
    const auto id = pair.element(1).id();
    if (static_cast<uint32_t>(id) >= out_.vocabulary) pair.refuse("is not the id of a token");
    return id;
  }

  /// With each of the `texts` once.
  text_template read_template(const json_place& processor, const json_place& list, size_t texts) {
    text_template out;
    size_t seen = 0;
    if (list.array().size() > longest_template)
      list.refuse(fmt::format("has more than {} items", longest_template));
    for (size_t i = 0; i < list.array().size(); ++i) {
      const auto item = list.element(i);
      const auto sequence = item.find("Sequence");
      const auto what = sequence ? *sequence : item.at("SpecialToken");
      template_item t;
      const auto type = what.at("type_id").id();
      if (type > 1) what.at("type_id").refuse("is neither 0 nor 1");
      t.type = static_cast<uint8_t>(type);
      if (sequence) {
        t.text = seen++;
        if (seen > texts || what.at("id").string() != (*t.text == 0 ? "A" : "B"))
          what.refuse(texts == 1 ? "must be the text A, once" : "must be the texts A and B, in this order");
      } else {
        t.tokens = tokens_named(processor, what.at("id"));
      }
      out.push_back(std::move(t));
    }
    if (seen < texts) list.refuse("has no place for a text");
    return out;
  }

  std::vector<token> tokens_named(const json_place& processor, const json_place& name) const {
    const auto found = processor.at("special_tokens").find(name.string().c_str());
    if (!found) name.refuse(fmt::format("is '{}', which special_tokens does not have", name.string()));
    std::vector<token> out;
    const auto list = found->at("ids");
    if (list.array().size() > longest_template) list.refuse("has too many ids");
    for (size_t i = 0; i < list.array().size(); ++i) {
      out.push_back(list.element(i).id());
      if (static_cast<uint32_t>(out.back()) >= out_.vocabulary)
        list.element(i).refuse("is not the id of a token");
    }
    return out;
  }

  /// Longer ones would make splitting a word slow.
  static void check_length(const json_place& place, std::string_view text) {
    if (text.size() > longest_token) place.refuse(fmt::format("has more than {} bytes", longest_token));
  }

  token known(const json_place& name) const {
    const auto found = ids_.find(name.string());
    if (found == ids_.end())
      name.refuse(fmt::format("is '{}', which model.vocab does not have", name.string()));
    return found->second;
  }

  void know(token id) { out_.vocabulary = std::max(out_.vocabulary, static_cast<uint32_t>(id) + 1); }

  const json_place root_;
  const std::string& file_;
  json_encoder_tokenizer::parts out_;
  std::unordered_map<std::string, token> ids_;
};

}  // namespace

std::shared_ptr<const encoder_tokenizer> make_encoder_tokenizer(std::string_view text,
                                                                const std::string& file) {
  const auto document = parse_json(text);
  if (document.is_discarded())
    throw model_error(fmt::format("{}: is not JSON, or is nested too deeply: is the file complete?", file));
  return std::make_shared<const json_encoder_tokenizer>(
      encoder_tokenizer_reader(json_place(file, document), file).read());
}

std::shared_ptr<const encoder_tokenizer> read_encoder_tokenizer(const std::filesystem::path& folder) {
  const auto file = (folder / "tokenizer.json").string();
  return make_encoder_tokenizer(read_text(file, max_tokenizer_bytes), file);
}

}  // namespace troupe::llm

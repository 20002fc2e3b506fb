#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/byte_token.hpp"
#include "gpu/tokenizer/sentencepiece_check.hpp"
#include "gpu/tokenizer/sentencepiece_model.hpp"
#include "gpu/tokenizer/space_words.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

using sentencepiece::SentencePieceProcessor;

// Appended to a serialized model, protobuf merges these:
/// normalizer_spec { add_dummy_prefix: false }
constexpr std::string_view no_dummy_prefix{"\x1a\x02\x18\x00", 4};
/// normalizer_spec { precompiled_charsmap: "" add_dummy_prefix: true remove_extra_whitespaces: false }
constexpr std::string_view llama_rules{"\x1a\x06\x12\x00\x18\x01\x20\x00", 8};

bool begins_with_space(std::string_view text) {
  return text.starts_with(' ') || text.starts_with(space_symbol);
}

std::string with_rules(std::string_view model, const sentencepiece_settings& settings) {
  std::string out{model};
  if (settings.llama_rules) out += llama_rules;
  if (settings.llama_rules && !settings.prefix_space) out += no_dummy_prefix;
  return out;
}

std::unique_ptr<SentencePieceProcessor> load(std::string_view model, const std::string& file) {
  auto processor = std::make_unique<SentencePieceProcessor>();
  std::string why;
  try {
    const auto status = processor->LoadFromSerializedProto({model.data(), model.size()});
    if (status.ok()) return processor;
    why = status.ToString();
  } catch (const std::exception& e) {  // building the tries may throw
    why = e.what();
  }
  throw model_error(fmt::format("{}: sentencepiece cannot read it: {}", file, why));
}

/// The content of a model. Pieces that are special tokens are not matched in texts as user-defined ones are:
/// only the settings' tokens are, by name, where a request allows it.
sentencepiece_options checked(std::string_view model, const std::string& file,
                              const std::vector<added_token>& added) {
  auto options = check_sentencepiece(model, file);
  for (const auto& t : added) {
    const auto id = static_cast<size_t>(t.id);
    if (t.special && id < options.pieces.size() &&
        options.pieces[id].type == sentencepiece_piece::user_defined)
      options.pieces[id].type = sentencepiece_piece::control;
  }
  return options;
}

class sentencepiece_tokenizer final : public tokenizer {
 public:
  /// `model`: with the settings' rules.
  sentencepiece_tokenizer(const std::string& model, const std::string& file, sentencepiece_settings settings)
      : options_(checked(model, file, settings.added)),
        processor_(load(model, file)),
        settings_(std::move(settings)),
        model_(sentencepiece_model::make(options_)) {
    options_.pieces = {};
    options_.normalizations = {};
    if (!model_ && (settings_.llama_rules || !settings_.space_after_added) && options_.add_dummy_prefix)
      inner_ = load(model + std::string(no_dummy_prefix), file);
    read_pieces();
    read_added();
  }

  std::vector<token> encode(std::string_view text, bool special, bool parse_special) const override {
    std::string corrected;
    if (!is_utf8(text)) text = corrected = replace_invalid(text);
    std::vector<token> ids;
    if (special && settings_.add_bos && processor_->bos_id() >= 0) ids.push_back(processor_->bos_id());
    bool behind_added = false;
    for (const auto& part : added_.split(text, false, parse_special)) {
      if (part.id) {
        ids.push_back(*part.id);
        behind_added = true;
        continue;
      }
      const bool without_space = (behind_added && !settings_.space_after_added) ||
                                 (settings_.llama_rules && begins_with_space(part.text));
      if (model_)
        model_->append(part.text, options_.add_dummy_prefix && !without_space, ids);
      else
        append_by_library(part.text, without_space, ids);
    }
    if (special && settings_.add_eos && processor_->eos_id() >= 0) ids.push_back(processor_->eos_id());
    return ids;
  }

  std::string decode(const std::vector<token>& tokens, bool skip_special) const override {
    std::string bytes;
    bool at_start = true;
    for (const auto t : tokens) {
      const auto* p = find_piece(t);
      if (p == nullptr || (skip_special && p->special)) continue;
      std::string_view text = p->text;
      // the space that encoding added before the text
      const bool stripped = at_start && p->leading_space && leaves_out_spaces();
      if (stripped) text.remove_prefix(1);
      bytes += text;
      at_start = at_start && text.empty() && !(stripped && !options_.remove_extra_whitespaces);
    }
    return replace_invalid(bytes);
  }

  uint32_t vocabulary() const override { return static_cast<uint32_t>(pieces_.size()); }

  std::string piece(token t) const override {
    const auto* p = find_piece(t);
    return p == nullptr || p->special ? "" : p->text;
  }

  std::string name(token t) const override {
    if (const auto* added = added_.find(t)) return added->content;
    return t < 0 || t >= processor_->GetPieceSize() ? "" : processor_->IdToPiece(t);
  }

  bool is_special(token t) const override {
    const auto* p = find_piece(t);
    return p != nullptr && p->special;
  }

  std::optional<token> find(std::string_view special) const override {
    const auto* t = added_.find(special);
    return t == nullptr ? std::nullopt : std::optional(t->id);
  }

 private:
  void append_by_library(std::string_view text, bool without_space, std::vector<token>& ids) const {
    std::vector<int> more;
    const auto& processor = without_space && inner_ ? *inner_ : *processor_;
    const auto status = processor.Encode({text.data(), text.size()}, &more);
    if (!status.ok())
      throw model_error(fmt::format("sentencepiece cannot encode a text: {}", status.ToString()));
    ids.insert(ids.end(), more.begin(), more.end());
  }

  struct piece_entry {
    std::string text;            // decoded text; the name of a special piece
    bool special = false;        // a control piece, or the unknown piece
    bool leading_space = false;  // decoding may strip it
  };

  bool leaves_out_spaces() const { return options_.add_dummy_prefix || options_.remove_extra_whitespaces; }

  const piece_entry* find_piece(token t) const {
    return t < 0 || static_cast<size_t>(t) >= pieces_.size() ? nullptr : &pieces_[static_cast<size_t>(t)];
  }

  void read_pieces() {
    for (int id = 0; id < processor_->GetPieceSize(); ++id) {
      const auto& written = processor_->IdToPiece(id);
      piece_entry p;
      if (processor_->IsControl(id) || processor_->IsUnknown(id)) {
        p = {written, true, false};
      } else if (const auto byte = byte_of_token(written); byte && processor_->IsByte(id)) {
        p.text = std::string(1, static_cast<char>(*byte));
      } else {
        p = {replaced(written, space_symbol, " "), false, written.starts_with(space_symbol)};
      }
      pieces_.push_back(std::move(p));
    }
  }

  /// Registers control pieces and the unknown piece as added tokens, which are matched by name.
  void read_added() {
    auto all = settings_.added;
    for (const auto& t : all) {
      const auto index = static_cast<size_t>(t.id);
      if (index >= pieces_.size()) pieces_.resize(index + 1);
      pieces_[index] = {replaced(t.content, space_symbol, " "), t.special, false};
    }
    for (int id = 0; id < processor_->GetPieceSize(); ++id) {
      const auto& name = processor_->IdToPiece(id);
      const bool named = std::any_of(all.begin(), all.end(),
                                     [&](const added_token& t) { return t.id == id || t.content == name; });
      const bool special = processor_->IsControl(id) || processor_->IsUnknown(id);
      if (special && !named && name.size() <= longest_added_token)
        all.push_back({id, name, true, false, false, false, false});
    }
    added_ = added_tokens(std::move(all), nullptr);
  }

  sentencepiece_options options_;
  const std::unique_ptr<SentencePieceProcessor> processor_;
  // without dummy prefix; null: processor_ has none either, all texts get one, or model_ encodes
  std::unique_ptr<SentencePieceProcessor> inner_;
  const sentencepiece_settings settings_;
  const std::unique_ptr<const sentencepiece_model> model_;  // null: the library encodes
  std::vector<piece_entry> pieces_;                         // by id
  added_tokens added_;
};

}  // namespace

std::shared_ptr<const tokenizer> make_sentencepiece_tokenizer(std::string_view model, const std::string& file,
                                                              sentencepiece_settings settings) {
  const auto own = with_rules(model, settings);
  return std::make_shared<const sentencepiece_tokenizer>(own, file, std::move(settings));
}

}  // namespace troupe::llm

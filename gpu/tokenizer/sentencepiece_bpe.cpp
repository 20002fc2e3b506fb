// The BPE of sentencepiece: pairs whose text is a piece merge, that of the best score first.
#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "gpu/tokenizer/character_table.hpp"
#include "gpu/tokenizer/pair_merger.hpp"
#include "gpu/tokenizer/prefix_search.hpp"
#include "gpu/tokenizer/sentencepiece_model.hpp"
#include "gpu/tokenizer/space_words.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "gpu/tokenizer/word_memory.hpp"

namespace troupe::llm {

namespace {

std::string_view leading_character(std::string_view text) {
  size_t length = 0;
  first_character(text, length);
  return text.substr(0, length);
}

bool is_one_character(std::string_view text) { return leading_character(text).size() == text.size(); }

/// Calls `use` with each character and the text before it.
template <class Use>
void each_character_after(std::string_view text, Use use) {
  for (size_t at = 0; at < text.size();) {
    const auto c = leading_character(text.substr(at));
    use(text.substr(0, at), c);
    at += c.size();
  }
}

class sentencepiece_bpe final : public sentencepiece_model {
 public:
  explicit sentencepiece_bpe(const sentencepiece_options& model);

 private:
  class builder;
  class encoder;

  void encode(std::string_view normalized, std::vector<token>& out) const override;

  merge_table merges_;
  prefix_search user_defined_;  // matched before all merges, and never merged
  std::vector<token> user_defined_ids_;
  character_table characters_;     // of all pieces: a piece, or a lone symbol beyond all pieces
  std::vector<std::string> lone_;  // characters without a piece, by symbol from pieces_ on
  space_words words_;
  token pieces_ = 0;  // their number
};

class sentencepiece_bpe::builder {
 public:
  builder(const sentencepiece_options& model, sentencepiece_bpe& out) : model_(model), out_(&out) {
    out_->pieces_ = static_cast<token>(model.pieces.size());
    read_pieces();
    read_characters();
    read_merges();
  }

 private:
  void read_pieces() {
    std::vector<std::string> user_defined;
    for (size_t i = 0; i < model_.pieces.size(); ++i) {
      const auto& p = model_.pieces[i];
      if (is_ordinary(p)) ids_.emplace(p.text, static_cast<token>(i));
      if (p.type != sentencepiece_piece::user_defined) continue;
      user_defined.push_back(p.text);
      out_->user_defined_ids_.push_back(static_cast<token>(i));
    }
    out_->user_defined_ = prefix_search(std::move(user_defined));
  }

  void read_characters() {
    for (const auto& [text, id] : ids_)
      if (is_one_character(text)) out_->characters_.add(first_character(text), id);
    for (const auto& [text, id] : ids_) {
      out_->words_.note(text);
      each_character_after(text, [&](std::string_view, std::string_view c) {
        if (out_->characters_.find(first_character(c)) >= 0) return;
        out_->characters_.add(first_character(c), out_->pieces_ + static_cast<token>(out_->lone_.size()));
        out_->lone_.emplace_back(c);
      });
    }
  }

  void read_merges() {
    std::vector<float> scores;
    size_t pairs = 0;
    const auto each_split = [&](auto use) {
      for (const auto& [text, id] : ids_)
        each_character_after(text, [&, whole = text, id = id](std::string_view left, std::string_view) {
          if (left.empty()) return;
          const auto l = symbol(left), r = l < 0 ? -1 : symbol(whole.substr(left.size()));
          if (r >= 0) use(l, r, id);
        });
    };
    for (const auto& [text, id] : ids_) scores.push_back(score(id));
    std::ranges::sort(scores, std::greater());
    scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
    each_split([&](token, token, token) { ++pairs; });
    out_->merges_ = merge_table(pairs);
    each_split([&](token left, token right, token id) {
      const auto at = std::ranges::lower_bound(scores, score(id), std::greater());
      out_->merges_.add(left, right, {static_cast<uint32_t>(at - scores.begin()), id});
    });
  }

  float score(token id) const { return model_.pieces[static_cast<size_t>(id)].score; }

  /// Of a character, or of several that are a piece.
  token symbol(std::string_view text) const {
    if (is_one_character(text)) return out_->characters_.find(first_character(text));
    const auto found = ids_.find(text);
    return found == ids_.end() ? -1 : found->second;
  }

  const sentencepiece_options& model_;
  sentencepiece_bpe* const out_;
  std::unordered_map<std::string_view, token> ids_;  // of ordinary pieces
};

/// Appends the tokens of the words of one text.
class sentencepiece_bpe::encoder {
 public:
  encoder(const sentencepiece_bpe& owner, size_t text_bytes, std::vector<token>& out)
      : owner_(owner), known_(text_bytes), merger_(owner.merges_), out_(out) {}

  void append(std::string_view text) {
    while (!text.empty()) {
      const auto word = text.substr(0, owner_.words_.first(text));
      known_.append(word, out_, [&] { encode(word); });
      text.remove_prefix(word.size());
    }
  }

 private:
  void encode(std::string_view word) {
    symbols_.clear();
    while (!word.empty()) {
      if (const auto found = owner_.user_defined_.longest(word)) {
        merge();
        out_.push_back(owner_.user_defined_ids_[found->which]);
        word.remove_prefix(found->size);
        continue;
      }
      const auto c = leading_character(word);
      if (const auto symbol = owner_.characters_.find(first_character(c)); symbol >= 0) {
        symbols_.push_back(symbol);
      } else {
        merge();
        owner_.append_unknown(c, out_);
      }
      word.remove_prefix(c.size());
    }
    merge();
  }

  /// Ends a run of symbols that may merge.
  void merge() {
    if (symbols_.empty()) return;
    if (owner_.lone_.empty()) {
      merger_.append(symbols_, out_);
    } else {
      merged_.clear();
      merger_.append(symbols_, merged_);
      for (const auto t : merged_) {
        if (t < owner_.pieces_)
          out_.push_back(t);
        else
          owner_.append_unknown(owner_.lone_[static_cast<size_t>(t - owner_.pieces_)], out_);
      }
    }
    symbols_.clear();
  }

  const sentencepiece_bpe& owner_;
  word_memory known_;
  pair_merger merger_;
  std::vector<token>& out_;
  std::vector<token> symbols_, merged_;
};

sentencepiece_bpe::sentencepiece_bpe(const sentencepiece_options& model) : sentencepiece_model(model) {
  builder(model, *this);
}

void sentencepiece_bpe::encode(std::string_view normalized, std::vector<token>& out) const {
  encoder(*this, normalized.size(), out).append(normalized);
}

}  // namespace

std::unique_ptr<const sentencepiece_model> make_sentencepiece_bpe(const sentencepiece_options& model) {
  return std::make_unique<const sentencepiece_bpe>(model);
}

}  // namespace troupe::llm

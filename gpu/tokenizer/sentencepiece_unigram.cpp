// The Unigram model as in `Model::EncodeOptimized` of libsentencepiece. Its sums are of single precision and
// go over the whole text, so texts cannot be split: rounding decides between paths. (unigram.hpp adds in
// double precision, as the package tokenizers.)
#include <algorithm>
#include <cfloat>
#include <vector>

#include "gpu/tokenizer/piece_trie.hpp"
#include "gpu/tokenizer/sentencepiece_model.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

std::vector<piece_trie::entry> ordinary_pieces(const sentencepiece_options& model) {
  std::vector<piece_trie::entry> out;
  for (size_t i = 0; i < model.pieces.size(); ++i)
    if (is_ordinary(model.pieces[i])) out.emplace_back(model.pieces[i].text, static_cast<token>(i));
  return out;
}

class sentencepiece_unigram final : public sentencepiece_model {
 public:
  explicit sentencepiece_unigram(const sentencepiece_options& model)
      : sentencepiece_model(model), pieces_(ordinary_pieces(model)) {
    float min = FLT_MAX, max = FLT_MIN;
    for (const auto& p : model.pieces) {
      if (p.type != sentencepiece_piece::normal) continue;
      min = std::min(min, p.score);
      max = std::max(max, p.score);
    }
    unknown_score_ = min - 10.0F;
    for (const auto& p : model.pieces) {
      const bool preferred = p.type == sentencepiece_piece::user_defined;
      scores_.push_back(preferred ? static_cast<double>(static_cast<float>(p.text.size()) * max) - 0.1
                                  : p.score);
    }
  }

 private:
  static constexpr token no_piece = -1;

  /// The best way to the end of a piece.
  struct path {
    float score = 0;
    token last = no_piece;
    uint32_t size = 0;  ///< bytes of its last piece; 0: there is none yet
  };

  void encode(std::string_view normalized, std::vector<token>& out) const override {
    std::vector<path> best(normalized.size() + 1);
    for (size_t from = 0; from < normalized.size();) {
      const auto rest = normalized.substr(from);
      const auto score = best[from].score;
      size_t character = 0;
      first_character(rest, character);
      bool alone = false;
      pieces_.each_prefix(rest, [&](token t, size_t size) {
        improve(best[from + size], scores_[static_cast<size_t>(t)] + score, t, size);
        alone = alone || size == character;
      });
      if (!alone) improve(best[from + character], unknown_score_ + score, no_piece, character);
      from += character;
    }
    append_best(normalized, best, out);
  }

  template <class Score>
  static void improve(path& known, Score score, token last, size_t size) {
    if (known.size == 0 || score > known.score)
      known = {static_cast<float>(score), last, static_cast<uint32_t>(size)};
  }

  void append_best(std::string_view text, const std::vector<path>& best, std::vector<token>& out) const {
    std::vector<std::pair<token, size_t>> reversed;  // each with its end
    for (auto end = text.size(); end > 0; end -= best[end].size) reversed.emplace_back(best[end].last, end);
    for (auto i = reversed.size(); i-- > 0;) {
      const auto [last, end] = reversed[i];
      if (last != no_piece)
        out.push_back(last);
      else
        append_unknown(text.substr(end - best[end].size, best[end].size), out);
    }
  }

  const piece_trie pieces_;
  std::vector<double> scores_;  // by token
  float unknown_score_ = 0;
};

}  // namespace

std::unique_ptr<const sentencepiece_model> make_sentencepiece_unigram(const sentencepiece_options& model) {
  return std::make_unique<const sentencepiece_unigram>(model);
}

}  // namespace troupe::llm

#include "gpu/tokenizer/unigram.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "gpu/tokenizer/byte_token.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {
namespace {

class unigram final : public subword_model {
 public:
  unigram(std::vector<unigram_piece> pieces, token unknown, bool bytes)
      : pieces_(std::move(pieces)), unknown_(unknown) {
    unknown_score_ = std::ranges::min(pieces_, {}, &unigram_piece::score).score - unknown_penalty;
    for (size_t i = 0; i < pieces_.size(); ++i) sorted_.push_back(static_cast<token>(i));
    std::ranges::sort(sorted_, {}, [this](token t) { return text_of(t); });
    for (int b = 0; bytes && b < 256; ++b) {
      const auto found = find(byte_token(static_cast<uint8_t>(b)));
      if (!found) break;
      bytes_.push_back(*found);
    }
    if (bytes_.size() < 256) bytes_.clear();
  }

  void append(std::string_view word, std::vector<token>& to) const override {
    std::vector<path> best(word.size() + 1);
    best[0].score = 0;
    for (size_t from = 0; from < word.size();) {
      size_t character = 0;
      first_character(word.substr(from), character);
      bool alone = false;
      each_prefix(word.substr(from), [&](token t, size_t length) {
        improve(best[from + length], {best[from].score + pieces_[static_cast<size_t>(t)].score, from, t});
        alone = alone || length == character;
      });
      if (!alone) improve(best[from + character], {best[from].score + unknown_score_, from, unknown_});
      from += character;
    }
    append_best(word, best, to);
  }

 private:
  static constexpr double unknown_penalty = 10;

  /// The best way to the end of a piece.
  struct path {
    double score = -std::numeric_limits<double>::infinity();
    size_t from = 0;  ///< begin of the piece
    token last = 0;
  };
  static void improve(path& known, const path& other) {
    if (other.score > known.score) known = other;
  }

  void append_best(std::string_view word, const std::vector<path>& best, std::vector<token>& to) const {
    const auto before = static_cast<std::ptrdiff_t>(to.size());
    for (auto end = word.size(); end > 0; end = best[end].from) {
      const auto& p = best[end];
      if (p.last == unknown_ && !bytes_.empty())
        for (auto i = end; i-- > p.from;) to.push_back(bytes_[static_cast<uint8_t>(word[i])]);
      else if (p.last != unknown_ || std::ssize(to) == before || to.back() != unknown_)
        to.push_back(p.last);
    }
    std::reverse(to.begin() + before, to.end());
  }

  std::string_view text_of(token t) const { return pieces_[static_cast<size_t>(t)].text; }

  std::optional<token> find(std::string_view text) const {
    const auto at = std::ranges::lower_bound(sorted_, text, {}, [this](token t) { return text_of(t); });
    return at == sorted_.end() || text_of(*at) != text ? std::nullopt : std::optional(*at);
  }

  /// Calls `use(token, its bytes)` for each piece that `text` begins with, the shortest first.
  template <class F>
  void each_prefix(std::string_view text, F&& use) const {
    auto from = sorted_.begin(), to = sorted_.end();
    for (size_t n = 0; n < text.size() && from != to; ++n) {
      // of the pieces that share n bytes, those that share the next one
      const auto byte = [&](token t) {
        return n < text_of(t).size() ? static_cast<uint8_t>(text_of(t)[n]) : -1;
      };
      const int next = static_cast<uint8_t>(text[n]);
      from = std::ranges::lower_bound(from, to, next, {}, byte);
      to = std::ranges::upper_bound(from, to, next, {}, byte);
      if (from != to && text_of(*from).size() == n + 1) use(*from, n + 1);
    }
  }

  const std::vector<unigram_piece> pieces_;  // by token
  const token unknown_;
  double unknown_score_ = 0;
  std::vector<token> sorted_;  // by their texts
  std::vector<token> bytes_;   // empty: unknown characters are one token
};

}  // namespace

std::unique_ptr<const subword_model> make_unigram(std::vector<unigram_piece> pieces, token unknown,
                                                  bool bytes) {
  return std::make_unique<unigram>(std::move(pieces), unknown, bytes);
}

}  // namespace troupe::llm

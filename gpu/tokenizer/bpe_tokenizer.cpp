#include "gpu/tokenizer/bpe_tokenizer.hpp"

#include <algorithm>

#include "gpu/tokenizer/byte_alphabet.hpp"
#include "gpu/tokenizer/unicode.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

uint64_t pair_key(token left, token right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

/// Merges words and appends their tokens. Reuses its memory for all words of a text.
class bpe_tokenizer::word_merger {
 public:
  word_merger(const bpe_tokenizer& owner, std::vector<token>& out) : owner_(owner), out_(out) {}

  void add(std::string_view word) {
    if (owner_.file_.ignore_merges) {
      if (const auto found = owner_.words_.find(word); found != owner_.words_.end()) {
        out_.push_back(found->second);
        return;
      }
    }
    begin(word);
    while (!candidates_.empty()) {
      const auto best = candidates_.front();
      std::pop_heap(candidates_.begin(), candidates_.end(), later);
      candidates_.pop_back();
      apply(best);
    }
    for (int32_t at = symbols_.empty() ? none : 0; at != none; at = symbol(at).next)
      out_.push_back(symbol(at).id);
  }

 private:
  static constexpr int32_t none = -1;

  /// A symbol of the word, in a linked list. A merge extends the left one.
  struct symbol_entry {
    token id;
    int32_t previous;
    int32_t next;
    bool merged = false;  // into the symbol before it
  };
  struct candidate {
    uint32_t rank;
    int32_t left;
  };

  /// Order of the heap, which has the greatest first.
  static bool later(const candidate& a, const candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  }

  symbol_entry& symbol(int32_t at) { return symbols_[static_cast<size_t>(at)]; }

  void begin(std::string_view word) {
    symbols_.clear();
    for (const char c : word) {
      const auto id = owner_.bytes_[static_cast<uint8_t>(c)];
      if (id < 0) continue;
      const auto at = static_cast<int32_t>(symbols_.size());
      symbols_.push_back({id, at - 1, at + 1});
    }
    if (symbols_.empty()) return;
    symbols_.back().next = none;
    for (int32_t at = 0; symbol(at).next != none; at = symbol(at).next) propose(at);
  }

  void propose(int32_t left) {
    if (left == none || symbol(left).next == none) return;
    const auto* m = owner_.merge_of(symbol(left).id, symbol(symbol(left).next).id);
    if (m == nullptr) return;
    candidates_.push_back({m->rank, left});
    std::push_heap(candidates_.begin(), candidates_.end(), later);
  }

  void apply(const candidate& c) {
    auto& left = symbol(c.left);
    if (left.merged || left.next == none) return;
    auto& right = symbol(left.next);
    const auto* m = owner_.merge_of(left.id, right.id);
    if (m == nullptr || m->rank != c.rank) return;  // outdated: one of the symbols has changed since
    left.id = m->result;
    left.next = right.next;
    right.merged = true;
    if (left.next != none) symbol(left.next).previous = c.left;
    propose(left.previous);
    propose(c.left);
  }

  const bpe_tokenizer& owner_;
  std::vector<token>& out_;
  std::vector<symbol_entry> symbols_;
  std::vector<candidate> candidates_;
};

bpe_tokenizer::bpe_tokenizer(tokenizer_json file) : file_(std::move(file)) {
  bytes_.fill(-1);
  for (size_t id = 0; id < file_.vocabulary.size(); ++id) {
    const auto& entry = file_.vocabulary[id];
    if (!entry.plain) continue;
    if (entry.bytes.size() == 1) bytes_[static_cast<uint8_t>(entry.bytes[0])] = static_cast<token>(id);
    if (file_.ignore_merges) words_.emplace(entry.bytes, static_cast<token>(id));
  }
  merges_.reserve(file_.merges.size());
  for (uint32_t rank = 0; rank < file_.merges.size(); ++rank) {
    const auto& m = file_.merges[rank];
    merges_.emplace(pair_key(m.left, m.right), merge{rank, m.result});
  }
}

const bpe_tokenizer::merge* bpe_tokenizer::merge_of(token left, token right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

const tokenizer_json::entry* bpe_tokenizer::entry(token t) const {
  if (t < 0 || static_cast<size_t>(t) >= file_.vocabulary.size()) return nullptr;
  return &file_.vocabulary[static_cast<size_t>(t)];
}

void bpe_tokenizer::encode_text(std::string_view text, size_t pattern, word_merger& words) const {
  if (pattern == file_.patterns.size()) return words.add(text);
  file_.patterns[pattern].split(text,
                                [&](std::string_view piece) { encode_text(piece, pattern + 1, words); });
}

std::vector<token> bpe_tokenizer::encode(std::string_view text, bool special, bool parse_special) const {
  std::string corrected;
  if (!is_utf8(text)) text = corrected = replace_invalid(text);
  std::vector<token> ids;
  word_merger words(*this, ids);
  if (special) ids = file_.prefix;
  for (const auto& part : file_.added.split(text, false, parse_special)) {
    if (part.id) {
      ids.push_back(*part.id);
      continue;
    }
    const auto normal = file_.nfc ? nfc(part.text) : std::string(part.text);
    for (const auto& inner : file_.added.split(normal, true, parse_special)) {
      if (inner.id) {
        ids.push_back(*inner.id);
      } else {
        encode_text(inner.text, 0, words);
      }
    }
  }
  if (special) ids.insert(ids.end(), file_.suffix.begin(), file_.suffix.end());
  return ids;
}

std::string bpe_tokenizer::decode(const std::vector<token>& tokens, bool skip_special) const {
  std::string bytes;
  for (const auto t : tokens) {
    const auto* e = entry(t);
    if (e != nullptr && !(skip_special && is_special(t))) bytes += e->bytes;
  }
  return replace_invalid(bytes);
}

std::string bpe_tokenizer::piece(token t) const {
  const auto* e = entry(t);
  return e == nullptr || is_special(t) ? "" : e->bytes;
}

std::string bpe_tokenizer::name(token t) const {
  if (const auto* added = file_.added.find(t)) return added->content;
  const auto* e = entry(t);
  if (e == nullptr) return "";
  return e->plain ? in_alphabet(e->bytes) : e->bytes;
}

bool bpe_tokenizer::is_special(token t) const {
  const auto* added = file_.added.find(t);
  return added != nullptr && added->special;
}

std::optional<token> bpe_tokenizer::find(std::string_view special) const {
  const auto* added = file_.added.find(special);
  return added == nullptr ? std::nullopt : std::optional(added->id);
}

}  // namespace troupe::llm

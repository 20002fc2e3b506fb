#include "gpu/tokenizer/bpe_tokenizer.hpp"

#include "gpu/tokenizer/byte_alphabet.hpp"
#include "gpu/tokenizer/pair_merger.hpp"
#include "gpu/tokenizer/unicode.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "gpu/tokenizer/word_memory.hpp"

namespace troupe::llm {

/// Appends the tokens of words. Reuses its memory for all words of a text.
class bpe_tokenizer::word_encoder {
 public:
  word_encoder(const bpe_tokenizer& owner, size_t text_bytes, std::vector<token>& out)
      : owner_(owner), out_(out), known_(text_bytes), merger_(owner.merges_) {}

  void add(std::string_view word) {
    known_.append(word, out_, [&] { encode(word); });
  }

 private:
  void encode(std::string_view word) {
    if (owner_.file_.ignore_merges) {
      if (const auto found = owner_.words_.find(word); found != owner_.words_.end()) {
        out_.push_back(found->second);
        return;
      }
    }
    symbols_.clear();
    for (const char c : word)
      if (const auto id = owner_.bytes_[static_cast<uint8_t>(c)]; id >= 0) symbols_.push_back(id);
    merger_.append(symbols_, out_);
  }

  const bpe_tokenizer& owner_;
  std::vector<token>& out_;
  word_memory known_;
  pair_merger merger_;
  std::vector<token> symbols_;
};

bpe_tokenizer::bpe_tokenizer(tokenizer_json file) : file_(std::move(file)), merges_(file_.merges.size()) {
  bytes_.fill(-1);
  for (size_t id = 0; id < file_.vocabulary.size(); ++id) {
    const auto& entry = file_.vocabulary[id];
    if (!entry.plain) continue;
    if (entry.bytes.size() == 1) bytes_[static_cast<uint8_t>(entry.bytes[0])] = static_cast<token>(id);
    if (file_.ignore_merges) words_.emplace(entry.bytes, static_cast<token>(id));
  }
  for (uint32_t rank = 0; rank < file_.merges.size(); ++rank) {
    const auto& m = file_.merges[rank];
    merges_.add(m.left, m.right, {rank, m.result});
  }
}

const tokenizer_json::entry* bpe_tokenizer::entry(token t) const {
  if (t < 0 || static_cast<size_t>(t) >= file_.vocabulary.size()) return nullptr;
  return &file_.vocabulary[static_cast<size_t>(t)];
}

void bpe_tokenizer::encode_text(std::string_view text, size_t pattern, word_encoder& words) const {
  if (pattern == file_.patterns.size()) return words.add(text);
  file_.patterns[pattern].split(text,
                                [&](std::string_view piece) { encode_text(piece, pattern + 1, words); });
}

std::vector<token> bpe_tokenizer::encode(std::string_view text, bool special, bool parse_special) const {
  std::string corrected;
  if (!is_utf8(text)) text = corrected = replace_invalid(text);
  std::vector<token> ids;
  if (special) ids = file_.prefix;
  word_encoder words(*this, text.size(), ids);
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

#include "gpu/tokenizer/bpe_tokenizer.hpp"

#include "gpu/tokenizer/byte_alphabet.hpp"
#include "gpu/tokenizer/pair_merger.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "gpu/tokenizer/word_memory.hpp"

namespace troupe::llm {

/// Appends the tokens of words. Reuses its memory for all words of a text.
class bpe_tokenizer::word_encoder {
 public:
  word_encoder(const bpe_tokenizer& owner, size_t text_bytes, std::vector<token>& out)
      : owner_(owner), out_(out), known_(text_bytes), merger_(owner.merges_) {}

  void add(std::string_view word) {
    while (!word.empty()) {
      // a whole word may be a token
      const auto size = owner_.file_.ignore_merges ? word.size() : owner_.symbols_->first_part(word);
      const auto part = word.substr(0, size);
      known_.append(part, out_, [&] { encode(part); });
      word.remove_prefix(size);
    }
  }

 private:
  void encode(std::string_view part) {
    if (owner_.file_.ignore_merges) {
      if (const auto found = owner_.words_.find(part); found != owner_.words_.end()) {
        out_.push_back(found->second);
        return;
      }
    }
    symbols_.clear();
    owner_.symbols_->append(part, symbols_);
    merger_.append(symbols_, out_);
  }

  const bpe_tokenizer& owner_;
  std::vector<token>& out_;
  word_memory known_;
  pair_merger merger_;
  std::vector<token> symbols_;
};

bpe_tokenizer::bpe_tokenizer(tokenizer_json file)
    : file_(std::move(file)), symbols_(make_bpe_symbols(file_)), merges_(file_.merges.size()) {
  for (size_t id = 0; file_.ignore_merges && id < file_.vocabulary.size(); ++id) {
    const auto& e = file_.vocabulary[id];
    if (e.plain) words_.emplace(file_.byte_fallback ? e.characters : e.bytes, static_cast<token>(id));
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

void bpe_tokenizer::encode_part(const text_part& part, size_t step, word_encoder& words) const {
  if (step == file_.steps.size()) return words.add(part.text);
  file_.steps[step](part, [&](const text_part& inner) { encode_part(inner, step + 1, words); });
}

std::vector<token> bpe_tokenizer::encode(std::string_view text, bool special, bool parse_special) const {
  std::string corrected;
  if (!is_utf8(text)) text = corrected = replace_invalid(text);
  std::vector<token> ids;
  if (special) ids = file_.around.prefix;
  word_encoder words(*this, text.size(), ids);
  bool at_start = true;
  for (const auto& part : file_.added.split(text, false, parse_special)) {
    if (part.id) {
      ids.push_back(*part.id);
    } else {
      const auto normal = file_.normalizer ? file_.normalizer(part.text) : std::string(part.text);
      for (const auto& inner : file_.added.split(normal, true, parse_special)) {
        if (inner.id)
          ids.push_back(*inner.id);
        else
          encode_part({inner.text, at_start}, 0, words);
        at_start = false;
      }
    }
    at_start = false;
  }
  if (special) ids.insert(ids.end(), file_.around.suffix.begin(), file_.around.suffix.end());
  return ids;
}

std::string bpe_tokenizer::decode(const std::vector<token>& tokens, bool skip_special) const {
  std::string bytes;
  for (const auto t : tokens) {
    const auto* e = entry(t);
    if (e != nullptr && !(skip_special && is_special(t))) bytes += e->bytes;
  }
  if (file_.strips_space && bytes.starts_with(' ')) bytes.erase(0, 1);
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
  if (!e->characters.empty()) return e->characters;
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

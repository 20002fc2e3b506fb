#include "gpu/tokenizer/bpe_symbols.hpp"

#include <array>
#include <cstdint>

#include "gpu/tokenizer/byte_token.hpp"
#include "gpu/tokenizer/character_table.hpp"
#include "gpu/tokenizer/space_words.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

/// A token for each byte. -1: none.
class byte_table {
 public:
  byte_table() { tokens_.fill(-1); }
  void set(uint8_t byte, token t) { tokens_[byte] = t; }
  void append(std::string_view bytes, std::vector<token>& to) const {
    for (const char c : bytes)
      if (const auto t = tokens_[static_cast<uint8_t>(c)]; t >= 0) to.push_back(t);
  }

 private:
  std::array<token, 256> tokens_{};
};

class byte_symbols final : public bpe_symbols {
 public:
  explicit byte_symbols(const tokenizer_json& file) {
    for (size_t id = 0; id < file.vocabulary.size(); ++id) {
      const auto& e = file.vocabulary[id];
      if (e.plain && e.bytes.size() == 1)
        bytes_.set(static_cast<uint8_t>(e.bytes[0]), static_cast<token>(id));
    }
  }

  void append(std::string_view word, std::vector<token>& to) const override { bytes_.append(word, to); }

 private:
  byte_table bytes_;
};

/// A character without a token becomes the tokens of its bytes.
class character_symbols final : public bpe_symbols {
 public:
  explicit character_symbols(const tokenizer_json& file) {
    for (size_t id = 0; id < file.vocabulary.size(); ++id) {
      const auto& e = file.vocabulary[id];
      if (!e.plain) continue;
      if (const auto byte = byte_of_token(e.characters)) bytes_.set(*byte, static_cast<token>(id));
      size_t length = 0;
      const auto c = first_character(e.characters, length);
      if (length == e.characters.size()) characters_.add(c, static_cast<token>(id));
    }
    for (const auto& m : file.merges) words_.note(file.vocabulary[static_cast<size_t>(m.result)].characters);
  }

  void append(std::string_view word, std::vector<token>& to) const override {
    while (!word.empty()) {
      size_t length = 0;
      if (const auto t = characters_.find(first_character(word, length)); t >= 0)
        to.push_back(t);
      else
        bytes_.append(word.substr(0, length), to);
      word.remove_prefix(length);
    }
  }

  size_t first_part(std::string_view word) const override { return words_.first(word); }

 private:
  byte_table bytes_;
  character_table characters_;
  space_words words_;
};

}  // namespace

std::unique_ptr<const bpe_symbols> make_bpe_symbols(const tokenizer_json& file) {
  if (file.byte_fallback) return std::make_unique<const character_symbols>(file);
  return std::make_unique<const byte_symbols>(file);
}

}  // namespace troupe::llm

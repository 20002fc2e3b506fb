#include "tests/gpu/tokenizer/models.hpp"

#include <fmt/format.h>

#include <cstring>

#include "gpu/tokenizer/bpe_tokenizer.hpp"
#include "gpu/tokenizer/tokenizer_json.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

using json = nlohmann::json;

std::string in_byte_alphabet(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    char32_t next = 256;
    for (uint8_t b = 0; b < byte; ++b) next += (b < '!' || (b > '~' && b < 0xa1) || b == 0xad);
    const bool visible = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
    append_utf8(text, visible ? byte : next);
  }
  return text;
}

json byte_level_document(const std::vector<std::pair<std::string, std::string>>& merges) {
  json vocab = json::object(), pairs = json::array();
  for (int byte = 0; byte < 256; ++byte)
    vocab[in_byte_alphabet(std::string(1, static_cast<char>(byte)))] = byte;
  for (const auto& [left, right] : merges) {
    const auto result = in_byte_alphabet(left + right);
    if (!vocab.contains(result)) vocab[result] = vocab.size();
    pairs.push_back({in_byte_alphabet(left), in_byte_alphabet(right)});
  }
  json document{{"added_tokens", json::array()},
                {"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
                {"post_processor", nullptr},
                {"decoder", {{"type", "ByteLevel"}}},
                {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", pairs}}}};
  add_token(document, "<|eot|>", {{"special", true}});
  return document;
}

void add_token(json& document, const std::string& content, json flags) {
  flags["content"] = content;
  flags["id"] = document["model"]["vocab"].size() + document["added_tokens"].size();
  document["added_tokens"].push_back(flags);
}

void use_pattern(json& document, const std::string& pattern) {
  document["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
}

std::shared_ptr<const tokenizer> make(const json& document) {
  return std::make_shared<const bpe_tokenizer>(read_tokenizer_json(document.dump(), "tokenizer.json"));
}

std::vector<test_piece> llama_pieces(std::vector<test_piece> first_words) {
  std::vector<test_piece> pieces{
      {"<unk>", test_piece::unknown}, {"<s>", test_piece::control}, {"</s>", test_piece::control}};
  for (int byte = 0; byte < 256; ++byte)
    pieces.push_back({fmt::format("<0x{:02X}>", byte), test_piece::byte});
  for (auto& word : first_words) pieces.push_back(std::move(word));
  for (const auto* text : {"▁", "a", "b", "x", "é", "ab", "▁a", "▁ab", "▁▁"})
    pieces.push_back({text, test_piece::normal, -static_cast<float>(pieces.size())});
  return pieces;
}

namespace {

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7f));
  return bytes + static_cast<char>(value);
}

std::string bytes_field(uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

std::string number_field(uint32_t number, uint64_t value) { return varint(number << 3) + varint(value); }

}  // namespace

std::string write_sentencepiece(const test_sentencepiece& model) {
  std::string file;
  for (const auto& p : model.pieces) {
    char score[sizeof p.score];
    std::memcpy(score, &p.score, sizeof score);
    file += bytes_field(1, bytes_field(1, p.text) + varint(2 << 3 | 5) + std::string(score, sizeof score) +
                               number_field(3, p.type));
  }
  constexpr uint64_t bpe = 2;
  file += bytes_field(
      2, number_field(3, bpe) + number_field(24, model.treat_whitespace_as_suffix) + number_field(35, 1));
  file += bytes_field(3, bytes_field(2, model.charsmap) + number_field(3, model.add_dummy_prefix) +
                             number_field(4, model.remove_extra_whitespaces));
  if (!model.denormalizer.empty()) file += bytes_field(5, bytes_field(2, model.denormalizer));
  return file;
}

}  // namespace troupe::llm

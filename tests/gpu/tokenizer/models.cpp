#include "tests/gpu/tokenizer/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

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

json character_document(const std::vector<std::string>& characters,
                        const std::vector<std::pair<std::string, std::string>>& merges) {
  json vocab{{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}}, pairs = json::array(), added = json::array();
  for (const auto* name : {"<unk>", "<s>", "</s>"})
    added.push_back({{"id", vocab[name]}, {"content", name}, {"special", true}});
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = vocab.size();
  for (const auto& c : characters) vocab[c] = vocab.size();
  for (const auto& [left, right] : merges) {
    if (!vocab.contains(left + right)) vocab[left + right] = vocab.size();
    pairs.push_back({left, right});
  }
  const json space{{"String", " "}}, symbol{{"String", "▁"}};
  return {{"added_tokens", added},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "▁"}},
              {{"type", "Replace"}, {"pattern", space}, {"content", "▁"}}}}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder",
           {{"type", "Sequence"},
            {"decoders",
             {{{"type", "Replace"}, {"pattern", symbol}, {"content", " "}},
              {{"type", "ByteFallback"}},
              {{"type", "Fuse"}},
              {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", pairs}}}};
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

void put_little_endian(std::string& to, uint32_t n) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>(n >> (8 * i));
}

/// The units of a trie of byte strings, as darts-clone stores them.
class double_array_writer {
 public:
  using values = std::map<std::string, uint32_t>;
  explicit double_array_writer(const values& all) {
    units_[0] = 0;
    place(0, 0, all);
  }
  std::string bytes() const {
    std::string out;
    const auto size = (units_.rbegin()->first | 0xff) + 1;  // a unit and its siblings are in one block
    for (uint32_t i = 0; i < size; ++i) put_little_endian(out, units_.contains(i) ? units_.at(i) : 0);
    return out;
  }

 private:
  void place(uint32_t at, uint8_t label, const values& suffixes) {
    std::map<uint8_t, values> children;
    for (const auto& [s, v] : suffixes) {
      if (s.empty())
        children[0];
      else
        children[static_cast<uint8_t>(s[0])].emplace(s.substr(1), v);
    }
    uint32_t base = 1;
    const auto taken = [&](const auto& child) { return units_.contains(base ^ child.first); };
    while (bases_.contains(base) || std::ranges::any_of(children, taken)) ++base;
    bases_.insert(base);
    for (const auto& [byte, rest] : children) units_[base ^ byte] = 0;
    const auto value = suffixes.find("");
    const bool has_value = value != suffixes.end();
    units_[at] = (at ^ base) << 10 | (has_value ? 1U << 8 : 0) | label;
    if (has_value) units_[base] = 1U << 31 | value->second;
    for (const auto& [byte, rest] : children)
      if (byte != 0) place(base ^ byte, byte, rest);
  }
  std::map<uint32_t, uint32_t> units_;
  std::set<uint32_t> bases_;
};

}  // namespace

std::string charsmap_of(const std::map<std::string, std::string>& replacements) {
  std::string texts, table;
  double_array_writer::values values;
  for (const auto& [was, now] : replacements) {
    values.emplace(was, static_cast<uint32_t>(texts.size()));
    texts += now + '\0';
  }
  const auto array = double_array_writer(values).bytes();
  put_little_endian(table, static_cast<uint32_t>(array.size()));
  return table + array + texts;
}

std::string write_sentencepiece(const test_sentencepiece& model) {
  std::string file;
  for (const auto& p : model.pieces) {
    char score[sizeof p.score];
    std::memcpy(score, &p.score, sizeof score);
    file += bytes_field(1, bytes_field(1, p.text) + varint(2 << 3 | 5) + std::string(score, sizeof score) +
                               number_field(3, p.type));
  }
  file +=
      bytes_field(2, number_field(3, model.model_type) + number_field(24, model.treat_whitespace_as_suffix) +
                         number_field(35, model.byte_fallback));
  file += bytes_field(3, bytes_field(2, model.charsmap) + number_field(3, model.add_dummy_prefix) +
                             number_field(4, model.remove_extra_whitespaces));
  if (!model.denormalizer.empty()) file += bytes_field(5, bytes_field(2, model.denormalizer));
  return file;
}

}  // namespace troupe::llm

#include "gpu/tokenizer/sentencepiece_check.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/utf8.hpp"

namespace troupe::llm {

namespace {

// Longer pieces are refused: encoding compares every place of a text with a whole piece.
constexpr size_t longest_piece = 4096;

/// A field of a protobuf message: a number, or bytes.
struct field {
  uint32_t number = 0;
  uint64_t value = 0;
  std::string_view bytes;
};

class reader {
 public:
  reader(std::string_view model, const std::string& file) : model_(model), file_(file) {}

  sentencepiece_options read() {
    each_field(model_, [&](const field& f) {
      switch (f.number) {
        case 1: read_piece(f.bytes); break;
        case 2: read_trainer(f.bytes); break;
        case 3: read_normalizer(f.bytes); break;
        case 5: read_denormalizer(f.bytes); break;
        default: break;
      }
    });
    if (options_.pieces.empty()) refuse("it has no pieces");
    return std::move(options_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw model_error(fmt::format(
        "{}: is damaged or not a sentencepiece model: {}; copy it again from its source", file_, what));
  }

  uint64_t number(std::string_view& rest) const {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest[0]);
      rest.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    refuse("it ends inside of a number");
  }

  std::string_view take(std::string_view& rest, uint64_t size) const {
    if (size > rest.size()) refuse("it ends inside of a field");
    const auto bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return bytes;
  }

  void each_field(std::string_view rest, const std::function<void(const field&)>& use) const {
    while (!rest.empty()) {
      const auto tag = number(rest);
      field f{static_cast<uint32_t>(tag >> 3), 0, {}};
      switch (tag & 7) {
        case 0: f.value = number(rest); break;
        case 1: f.bytes = take(rest, 8); break;
        case 2: f.bytes = take(rest, number(rest)); break;
        case 5: f.bytes = take(rest, 4); break;
        default: refuse(fmt::format("unknown wire type {}", tag & 7));
      }
      use(f);
    }
  }

  void read_piece(std::string_view message) {
    std::string_view text;
    bool sound = true;
    sentencepiece_piece p;
    each_field(message, [&](const field& f) {
      if (f.number == 1) text = f.bytes;
      if (f.number == 2 && f.bytes.size() == sizeof p.score) {
        std::memcpy(&p.score, f.bytes.data(), sizeof p.score);
        sound = sound && std::isfinite(p.score);
      }
      if (f.number == 3 && f.value >= sentencepiece_piece::normal && f.value <= sentencepiece_piece::byte)
        p.type = static_cast<sentencepiece_piece::kind>(f.value);
    });
    const auto id = options_.pieces.size();
    if (text.empty() || text.size() > longest_piece || text.find('\0') != std::string_view::npos ||
        !is_utf8(text))
      refuse(fmt::format("piece {} is not a string of 1 to {} bytes", id, longest_piece));
    if (!sound) refuse(fmt::format("the score of piece {} is not finite", id));
    p.text = text;
    options_.pieces.push_back(std::move(p));
    if (id + 1 >= max_vocabulary_size) refuse(fmt::format("it has {} pieces or more", max_vocabulary_size));
  }

  void read_trainer(std::string_view message) {
    constexpr uint32_t model_type = 3, treat_whitespace_as_suffix = 24, byte_fallback = 35;
    using kind = sentencepiece_options::kind;
    each_field(message, [&](const field& f) {
      if (f.number == model_type && f.value >= static_cast<uint64_t>(kind::unigram) &&
          f.value <= static_cast<uint64_t>(kind::character))
        options_.type = static_cast<kind>(f.value);
      if (f.number == byte_fallback) options_.byte_fallback = f.value != 0;
      if (f.number == treat_whitespace_as_suffix && f.value != 0)
        throw model_error(fmt::format(
            "{}: its pieces end in spaces (treat_whitespace_as_suffix), which is not supported", file_));
    });
  }

  void read_normalizer(std::string_view message) {
    each_field(message, [&](const field& f) {
      switch (f.number) {
        case 2:
          check_normalizations(f.bytes);
          options_.normalizations = f.bytes;
          break;
        case 3: options_.add_dummy_prefix = f.value != 0; break;
        case 4: options_.remove_extra_whitespaces = f.value != 0; break;
        case 5: options_.escape_whitespaces = f.value != 0; break;
        default: break;
      }
    });
  }

  void read_denormalizer(std::string_view message) const {
    each_field(message, [&](const field& f) {
      if (f.number == 2 && !f.bytes.empty())
        throw model_error(
            fmt::format("{}: it changes decoded text (denormalizer_spec), which is not supported", file_));
    });
  }

  /// Checks a normalization table: the size of a double array, the array (darts-clone's units), and the texts
  /// that its values point to.
  void check_normalizations(std::string_view table) const {
    static_assert(std::endian::native == std::endian::little);
    if (table.empty()) return;
    uint32_t size = 0;
    if (table.size() > sizeof size) std::memcpy(&size, table.data(), sizeof size);
    if (size == 0 || size % sizeof(uint32_t) != 0 || size >= table.size() - sizeof size)
      refuse("the array of its normalizations has a wrong size");
    const auto array = table.substr(sizeof size, size);
    const auto texts = table.substr(sizeof size + size);
    if (texts.back() != '\0') refuse("the strings of its normalizations are not terminated");
    const size_t units = size / sizeof(uint32_t);
    if (units % 256 != 0) refuse("the array of its normalizations is cut off");
    const auto unit = [&](size_t at) {
      uint32_t value = 0;
      std::memcpy(&value, array.data() + at * sizeof value, sizeof value);
      return value;
    };
    const auto is_value = [](uint32_t u) { return u >> 31 != 0; };
    for (size_t at = 0; at < units; ++at) {
      const auto u = unit(at);
      if (is_value(u)) {
        if (at == 0) refuse("the array of its normalizations has no root");
        if ((u & 0x7fffffff) >= texts.size()) refuse("a normalization points outside of their strings");
        continue;
      }
      // a step goes to the unit at (this one xor the offset xor a byte); byte 0 leads to a value
      const size_t next = at ^ static_cast<size_t>(u >> 10) << ((u & (1U << 9)) >> 6);
      const bool has_value = (u & (1U << 8)) != 0;
      if ((next | 0xff) >= units || (has_value && !is_value(unit(next))))
        refuse("a step of its normalizations points outside of them");
    }
  }

  std::string_view model_;
  const std::string& file_;
  sentencepiece_options options_;
};

}  // namespace

sentencepiece_options check_sentencepiece(std::string_view model, const std::string& file) {
  return reader(model, file).read();
}

}  // namespace troupe::llm

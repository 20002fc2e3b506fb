// Validates a sentencepiece model file before libsentencepiece reads it: the library does not check files,
// and reads out of bounds if one is damaged.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::llm {

struct sentencepiece_piece {
  enum kind : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  std::string text;  // UTF-8, not empty
  float score = 0;   // finite
  kind type = normal;
};

/// A model's pieces, and the options that encoding and decoding need.
struct sentencepiece_options {
  bool add_dummy_prefix = true;          // encoding adds a space before a text, and decoding strips it
  bool remove_extra_whitespaces = true;  // then decoding strips all leading pieces that are one space
  bool escape_whitespaces = true;        // pieces have U+2581 for a space
  std::string normalizations;            // the table that rewrites texts; may be empty
  enum class kind : uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };
  kind type = kind::unigram;
  bool byte_fallback = false;               // characters without a piece become bytes
  std::vector<sentencepiece_piece> pieces;  // by id
};

/// `model`: content of a tokenizer.model. `file`: its name for messages. Throws model_error if it is damaged:
/// pieces that are empty, not UTF-8 or without a valid score, or a normalization table that points outside of
/// itself.
sentencepiece_options check_sentencepiece(std::string_view model, const std::string& file);

}  // namespace troupe::llm

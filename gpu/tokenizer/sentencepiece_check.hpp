// Validates a sentencepiece model file before libsentencepiece reads it: the library does not check files,
// and reads out of bounds if one is damaged.
#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// The options of a model that decoding needs.
struct sentencepiece_options {
  bool add_dummy_prefix = true;          // encoding adds a space before a text, and decoding strips it
  bool remove_extra_whitespaces = true;  // then decoding strips all leading pieces that are one space
};

/// `model`: content of a tokenizer.model. `file`: its name for messages. Throws model_error if it is damaged:
/// pieces that are empty, not UTF-8 or without a valid score, or a normalization table that points outside of
/// itself.
sentencepiece_options check_sentencepiece(std::string_view model, const std::string& file);

}  // namespace troupe::llm

// libsentencepiece believes what is in a model file: a broken one makes it read where nothing is. So the file
// is looked through before.
#pragma once
#include <string>
#include <string_view>

namespace troupe::llm {

/// What decoding needs to know of a model.
struct sentencepiece_options {
  bool add_dummy_prefix = true;  // texts are encoded with a space before them, which decoding leaves out
  bool remove_extra_whitespaces =
      true;  // then decoding leaves out all pieces at the beginning that are one space
};

/// `model` is the content of a tokenizer.model, `file` its name for messages. Throws model_error if it is
/// damaged: pieces that are empty, no text or without a sound score, a table of normalizations that points
/// outside of itself.
sentencepiece_options check_sentencepiece(std::string_view model, const std::string& file);

}  // namespace troupe::llm

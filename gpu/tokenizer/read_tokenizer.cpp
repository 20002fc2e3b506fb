#include <fmt/format.h>

#include "gpu/common/is_missing.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/bpe_tokenizer.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"
#include "gpu/tokenizer/tokenizer_json.hpp"

namespace troupe::llm {

std::shared_ptr<const tokenizer> read_tokenizer(const std::filesystem::path& folder) {
  const auto pieces = folder / "tokenizer.model";
  const auto read_pieces = [&] {
    return make_sentencepiece_tokenizer(read_text(pieces, max_tokenizer_bytes), pieces.string(),
                                        read_sentencepiece_settings(folder));
  };
  if (const auto file = folder / "tokenizer.json"; !is_missing(file)) {
    const auto text = read_text(file, max_tokenizer_bytes);
    try {
      return std::make_shared<const bpe_tokenizer>(read_tokenizer_json(text, file.string()));
    } catch (const model_error&) {
      // it was made from the tokenizer.model beside it, as one of Unigram
      if (!is_from_sentencepiece(text) || is_missing(pieces)) throw;
      return read_pieces();
    }
  }
  if (!is_missing(pieces)) return read_pieces();
  throw model_error(
      fmt::format("{}: has neither a tokenizer.json nor a tokenizer.model: copy the one that belongs to "
                  "the model into it",
                  folder.string()));
}

}  // namespace troupe::llm

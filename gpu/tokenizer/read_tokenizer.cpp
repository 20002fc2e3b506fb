#include <fmt/format.h>

#include "gpu/common/model_error.hpp"
#include "gpu/tokenizer/bpe_tokenizer.hpp"
#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"
#include "gpu/tokenizer/tokenizer_json.hpp"

namespace troupe::llm {

namespace {

// the largest known one, of 262,144 tokens, has 33 MB
constexpr uint64_t max_tokenizer_bytes = 128 << 20;

}  // namespace

std::shared_ptr<const tokenizer> read_tokenizer(const std::filesystem::path& folder) {
  if (const auto file = folder / "tokenizer.json"; std::filesystem::exists(file))
    return std::make_shared<const bpe_tokenizer>(
        read_tokenizer_json(read_file(file, max_tokenizer_bytes), file.string()));
  if (const auto file = folder / "tokenizer.model"; std::filesystem::exists(file))
    return make_sentencepiece_tokenizer(read_file(file, max_tokenizer_bytes), file.string(),
                                        read_sentencepiece_settings(folder));
  throw model_error(
      fmt::format("{}: has neither a tokenizer.json nor a tokenizer.model: copy the one that belongs to "
                  "the model into it",
                  folder.string()));
}

}  // namespace troupe::llm

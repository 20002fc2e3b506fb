#include "tools/node/read_encoder_bundle.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"

namespace troupe {

encoder_bundle read_encoder_bundle(const std::filesystem::path& folder, uint32_t max_tokens) {
  encoder_bundle out{read_encoder_config(folder), llm::read_encoder_tokenizer(folder)};
  if (out.tokenizer->vocabulary() > out.config.vocabulary)
    throw model_error(
        fmt::format("{}: tokenizer.json has {} tokens, and the model {}: copy the one that "
                    "belongs to the model into it",
                    folder.string(), out.tokenizer->vocabulary(), out.config.vocabulary));
  const bool pair = out.config.reranks();
  if (pair && out.tokenizer->added(true) == 0)
    throw model_error(fmt::format("{}: tokenizer.json has no template for pairs of texts", folder.string()));
  if (out.tokenizer->added(pair) + 2 > max_tokens)
    throw model_error(
        fmt::format("{}: {} tokens have no place for words beside the {} that the tokenizer adds; "
                    "give larger lengths",
                    folder.string(), max_tokens, out.tokenizer->added(pair)));
  return out;
}

}  // namespace troupe

#include "tools/node/read_encoder_bundle.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"

namespace troupe {

encoder_bundle read_encoder_bundle(const std::filesystem::path& folder) {
  encoder_bundle out{read_encoder_config(folder), llm::read_encoder_tokenizer(folder)};
  if (out.words->vocabulary() > out.config.vocabulary)
    throw model_error(fmt::format("{}: tokenizer.json has {} tokens, and the model {}: copy the one that "
                                  "belongs to the model into it",
                                  folder.string(), out.words->vocabulary(), out.config.vocabulary));
  const bool pair = out.config.reranks();
  if (out.words->added(pair) + 2 > out.config.max_tokens)
    throw model_error(fmt::format("{}: texts of {} tokens have no place for words", folder.string(),
                                  out.config.max_tokens));
  if (pair && out.words->added(true) == 0)
    throw model_error(
        fmt::format("{}: tokenizer.json has no template for pairs of texts", folder.string()));
  return out;
}

}  // namespace troupe

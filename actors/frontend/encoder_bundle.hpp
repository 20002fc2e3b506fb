// The configuration and the tokenizer of an encoder, for the texts of requests.
#pragma once
#include <memory>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/tokenizer/encoder_tokenizer.hpp"

namespace troupe {

struct encoder_bundle {
  encoder_config config;
  std::shared_ptr<const llm::encoder_tokenizer> tokenizer;
};

}  // namespace troupe

// Bodies and answers of POST /v1/embeddings, as OpenAI and vLLM define them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/openai/base_request.hpp"
#include "transport/openai/error.hpp"

namespace troupe::openai {

struct embedding_request {
  std::string model;  ///< empty: not named
  std::vector<prompt> inputs;
  bool base64 = false;                     ///< embeddings as the base64 of little-endian floats
  std::optional<uint32_t> dimensions;      ///< only so many of the first numbers, brought to length 1
  std::optional<int64_t> truncate_tokens;  ///< of longer texts; -1: as many as the model takes
};
result<embedding_request> parse_embedding(std::string_view body);

/// `embeddings`: one for each input, in their order.
std::string format_embeddings(std::span<const std::vector<float>> embeddings, std::string_view id,
                              std::string_view model, bool base64, uint64_t tokens);

}  // namespace troupe::openai

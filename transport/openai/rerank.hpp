// Bodies and answers of POST /v1/rerank, as Jina and vLLM define them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/openai/error.hpp"

namespace troupe::openai {

struct rerank_request {
  std::string model;  ///< empty: not named
  std::string query;
  std::vector<std::string> documents;
  std::optional<uint32_t> top_n;           ///< only the best
  bool return_documents = true;            ///< the answer repeats their texts
  std::optional<int64_t> truncate_tokens;  ///< of longer pairs; -1: as many as the model takes
};
/// A document is a string, or an object with a `text`.
result<rerank_request> parse_rerank(std::string_view body);

/// The best documents first; equal ones in their order. `scores`: one for each document.
std::string format_rerank(const rerank_request& asked, std::span<const float> scores, std::string_view id,
                          std::string_view model, uint64_t tokens);

}  // namespace troupe::openai

// Answers to GET /v1/models and /v1/models/{model}.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace troupe::openai {

/// A model that requests may name: a base model, or an adapter of one.
struct model_card {
  std::string id;
  std::string root;                   ///< path of its weights; empty: its id
  std::optional<std::string> parent;  ///< an adapter's base model
  std::chrono::sys_seconds created{};
  uint32_t max_model_len = 0;  ///< tokens of prompt and answer; 0: not known yet, null
};

std::string format_model(const model_card& model);
std::string format_models(std::span<const model_card> models);

}  // namespace troupe::openai

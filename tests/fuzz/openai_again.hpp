// Writes a parsed request as a client would: reading it again must give the same request.
#pragma once
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "transport/openai/base_request.hpp"

namespace troupe::openai {

inline void require(bool ok) {
  if (!ok) std::abort();
}

/// With the digits of a float: 0.01f is less than 0.01.
inline nlohmann::json number_of(float value) { return nlohmann::json::parse(fmt::format("{}", value)); }

inline nlohmann::json shared_fields(const base_request& r) {
  nlohmann::json j = {{"model", r.model},
                      {"temperature", number_of(r.sampling.temperature)},
                      {"top_p", number_of(r.sampling.top_p)},
                      {"top_k", r.sampling.top_k},
                      {"min_p", number_of(r.sampling.min_p)},
                      {"repetition_penalty", number_of(r.sampling.repetition_penalty)},
                      {"presence_penalty", number_of(r.sampling.presence_penalty)},
                      {"frequency_penalty", number_of(r.sampling.frequency_penalty)},
                      {"stop", r.stop},
                      {"include_stop_str_in_output", r.include_stop},
                      {"stop_token_ids", r.stop_tokens},
                      {"ignore_eos", r.ignore_eos},
                      {"skip_special_tokens", r.skip_special_tokens},
                      {"add_special_tokens", r.add_special_tokens},
                      {"n", r.n},
                      {"stream", r.stream},
                      {"user", r.user}};
  if (r.max_tokens) j["max_tokens"] = *r.max_tokens;
  if (r.seed) j["seed"] = *r.seed;
  if (r.stream) j["stream_options"]["include_usage"] = r.include_usage;
  for (const auto& b : r.sampling.biases) j["logit_bias"][std::to_string(b.which)] = number_of(b.bias);
  return j;
}

/// Bounds that the header promises.
inline void check_bounds(const base_request& r) {
  const auto within = [](float value, float min, float max) { require(value >= min && value <= max); };
  within(r.sampling.temperature, 0, 2);
  require(r.sampling.temperature == 0 || r.sampling.temperature >= 0.99e-5f);
  require(r.sampling.top_p > 0 && r.sampling.top_p <= 1);
  within(r.sampling.min_p, 0, 1);
  within(r.sampling.repetition_penalty, 0.01f, 100);
  within(r.sampling.presence_penalty, -2, 2);
  within(r.sampling.frequency_penalty, -2, 2);
  for (size_t i = 0; i < r.sampling.biases.size(); ++i) {
    within(r.sampling.biases[i].bias, -100, 100);
    require(r.sampling.biases[i].which > (i == 0 ? -1 : r.sampling.biases[i - 1].which));
  }
  require(r.sampling.seed == r.seed.value_or(0));
  require(r.sampling.biases.size() <= 1024 && r.stop.size() <= 16 && r.stop_tokens.size() <= 128);
  for (const auto& s : r.stop) require(!s.empty() && s.size() <= 1024);
  for (const auto t : r.stop_tokens) require(t >= 0);
  require(r.n >= 1 && r.n <= 128 && r.top_logprobs <= 20 && !r.model.empty() && r.user.size() <= 1024);
  require(!r.max_tokens || *r.max_tokens >= 1);
}

/// A refusal must be readable for a client.
inline void check_refusal(const error& e) {
  require(e.status == 400 && !e.message.empty());
  require(nlohmann::json::accept(error_body(e)));
}

}  // namespace troupe::openai

#include "gpu/checkpoint/adapter_config.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;
using nlohmann::json;

namespace {

constexpr std::string_view v3 = "model.layers.3.self_attn.v_proj";

adapter_config adapter_config_with(const json& keys = json::object()) {
  json config = {{"peft_type", "LORA"}, {"r", 8}, {"lora_alpha", 16}, {"target_modules", {"q_proj"}}};
  config.update(keys);
  return {config.dump(), "f"};
}

std::string refused_config(const json& keys) {
  return error_of([&] { adapter_config_with(keys); });
}

}  // namespace

TEST_CASE("an adapter scales by alpha over its rank, or over the root of it") {
  CHECK(adapter_config_with().of(q3).rank == 8);
  CHECK(adapter_config_with().of(q3).scale == 2);
  CHECK(adapter_config_with({{"lora_alpha", 2.5}, {"r", 4}}).of(q3).scale == 0.625F);
  CHECK(adapter_config_with({{"use_rslora", true}}).of(q3).scale == static_cast<float>(16 / std::sqrt(8.0)));
  CHECK(adapter_config_with({{"use_rslora", true}, {"r", 16}}).of(q3).scale == 4);
}

TEST_CASE("rank_pattern and alpha_pattern change single modules") {
  const auto ranks = adapter_config_with({{"rank_pattern", {{"q_proj", 4}}}});
  CHECK(ranks.of(q3).rank == 4);
  CHECK(ranks.of(q3).scale == 4);
  CHECK(ranks.of(v3).rank == 8);
  CHECK(ranks.of(v3).scale == 2);
  const auto alphas = adapter_config_with({{"alpha_pattern", {{".*v_proj", 32}}}});
  CHECK(alphas.of(q3).scale == 2);
  CHECK(alphas.of(v3).scale == 4);
  const auto both = adapter_config_with(
      {{"use_rslora", true}, {"rank_pattern", {{"q_proj", 4}}}, {"alpha_pattern", {{"q_proj", 6}}}});
  CHECK(both.of(q3).scale == 3);
}

TEST_CASE("keys for training or module selection are ignored") {
  CHECK(refused_config({{"init_lora_weights", "gaussian"},
                        {"lora_dropout", 0.1},
                        {"target_modules", ".*(q|v)_proj"},
                        {"layers_to_transform", {1, 2}},
                        {"exclude_modules", "k_proj"},
                        {"modules_to_save", nullptr},
                        {"target_parameters", json::array()},
                        {"rank_pattern", nullptr},
                        {"loftq_config", json::object()},
                        {"megatron_core", "megatron.core"},
                        {"a_key_of_tomorrow", 1}}) == "no error");
}

TEST_CASE("adapters with unsupported settings are refused with the key") {
  CHECK(refused_config({{"peft_type", "IA3"}}) == "f: 'peft_type' is 'IA3': only LORA is supported");
  CHECK(refused_config({{"peft_type", nullptr}}) == "f: 'peft_type' is missing");
  CHECK(refused_config({{"bias", "lora_only"}}) ==
        "f: 'bias' is 'lora_only': train the adapter with bias \"none\"");
  for (const std::string init : {"pissa", "pissa_niter_16", "olora", "corda", "loftq"}) {
    CHECK(refused_config({{"init_lora_weights", init}})
              .starts_with("f: 'init_lora_weights' is '" + init +
                           "', which changes the weights of the base model"));
  }
  for (const json& init : {json(true), json(false), json("eva")})
    CHECK(refused_config({{"init_lora_weights", init}}) == "no error");
  const std::string not_served = "' is set, which is not supported: train the adapter without it";
  for (const std::string key : {"use_dora", "fan_in_fan_out", "lora_bias", "use_qalora"}) {
    CHECK(refused_config({{key, true}}) == "f: '" + key + not_served);
  }
  for (const std::string key : {"modules_to_save", "layer_replication", "target_parameters",
                                "trainable_token_indices", "alora_invocation_tokens"}) {
    CHECK(refused_config({{key, {"lm_head"}}}) == "f: '" + key + not_served);
  }
}

TEST_CASE("missing or out-of-range numbers of an adapter are refused") {
  CHECK(refused_config({{"r", 0}}) == "f: 'r' is 0: it must be an integer from 1 to 256");
  CHECK(refused_config({{"r", 257}}) == "f: 'r' is 257: it must be an integer from 1 to 256");
  CHECK(refused_config({{"r", nullptr}}) == "f: 'r' is missing");
  CHECK(refused_config({{"lora_alpha", "16"}}) ==
        "f: 'lora_alpha' is \"16\": it must be a number from -1000000 to 1000000");
  CHECK(refused_config({{"rank_pattern", {{"q_proj", 300}}}}) ==
        "f: 'rank_pattern.q_proj' is 300: it must be an integer from 1 to 256");
  CHECK(refused_config({{"alpha_pattern", {{"q_proj", 1e9}}}}) ==
        "f: 'alpha_pattern.q_proj' is 1000000000.0: it must be a number from -1000000 to 1000000");
  CHECK(refused_config({{"rank_pattern", 5}}) == "f: 'rank_pattern' is 5: it must be an object");
  CHECK(error_of([] { adapter_config("[]", "f"); }) == "f: is not a JSON object");
}

#include "gpu/checkpoint/adapter_config.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gpu/checkpoint/shown_name.hpp"

namespace troupe::llm {

namespace {

constexpr double largest_alpha = 1e6;

/// Absent, false, or an empty list or object.
bool is_off(const json_object& config, const char* key) {
  if (config.lacks(key)) return true;
  const auto& value = config.at(key);
  return value.is_boolean() ? !value.get<bool>() : value.is_structured() && value.empty();
}

/// Whether this initialisation of LoRA's matrices also changes the base model, which is then another one.
bool changes_base(std::string_view init) {
  return init.starts_with("pissa") || init == "olora" || init == "corda" || init == "loftq";
}

void refuse_unserved(const json_object& config) {
  const auto type = config.text("peft_type");
  if (type != "LORA")
    config.fail("peft_type", fmt::format("is {}: only LORA is supported", shown_name(type)));
  const auto bias = config.text("bias", "none");
  if (bias != "none") {
    config.fail("bias", fmt::format("is {}: train the adapter with bias \"none\"", shown_name(bias)));
  }
  if (!config.lacks("init_lora_weights") && config.at("init_lora_weights").is_string()) {
    const auto init = config.text("init_lora_weights");
    if (changes_base(init))
      config.fail("init_lora_weights",
                  fmt::format("is {}, which changes the weights of the base model: save the adapter with "
                              "path_initial_model_for_weight_conversion of PEFT, which converts it",
                              shown_name(init)));
  }
  for (const char* key : {"use_dora", "modules_to_save", "layer_replication", "fan_in_fan_out", "lora_bias",
                          "use_qalora", "use_bdlora", "target_parameters", "trainable_token_indices",
                          "alora_invocation_tokens", "arrow_config"}) {
    if (!is_off(config, key))
      config.fail(key, "is set, which is not supported: train the adapter without it");
  }
}

}  // namespace

adapter_config::adapter_config(std::string_view text, const std::string& file) {
  const auto document = parse_object(text, file);
  const json_object config(document, file);
  refuse_unserved(config);
  rank_ = static_cast<uint32_t>(config.integer("r", 1, largest_rank));
  alpha_ = config.number("lora_alpha", -largest_alpha, largest_alpha);
  rank_stabilized_ = config.flag("use_rslora", false);
  if (const auto p = config.object("rank_pattern"))
    rank_pattern_ = module_patterns(*p, 1, largest_rank, true);
  if (const auto p = config.object("alpha_pattern")) {
    alpha_pattern_ = module_patterns(*p, -largest_alpha, largest_alpha, false);
  }
}

adapter_strength adapter_config::of(std::string_view module) const {
  const double alpha = alpha_pattern_.find(module).value_or(alpha_),
               rank = rank_pattern_.find(module).value_or(rank_);
  return {static_cast<uint32_t>(rank),
          static_cast<float>(alpha / (rank_stabilized_ ? std::sqrt(rank) : rank))};
}

}  // namespace troupe::llm

#include "gpu/checkpoint/families/activations.hpp"

#include <fmt/format.h>

#include <string_view>

#include "gpu/checkpoint/shown_name.hpp"

namespace troupe::llm {

namespace {

void require_activation(const json_object& config, const char* key, const char* only) {
  const auto name = config.text(key, only);
  if (name != only) config.fail(key, fmt::format("is {}: only {} is supported", shown_name(name), only));
}

}  // namespace

void require_silu(const json_object& config) { require_activation(config, "hidden_act", "silu"); }

void require_gelu_tanh(const json_object& config) {
  require_activation(config, "hidden_activation", "gelu_pytorch_tanh");
}

}  // namespace troupe::llm

// The activation of the feed-forward layers, as the families' configurations name it.
#pragma once
#include "gpu/checkpoint/json_object.hpp"

namespace troupe::llm {

/// Throws model_error unless `hidden_act` is silu.
void require_silu(const json_object& config);
/// Throws model_error unless `hidden_activation` is gelu_pytorch_tanh. (Gemma's `hidden_act` has no effect.)
void require_gelu_tanh(const json_object& config);

}  // namespace troupe::llm

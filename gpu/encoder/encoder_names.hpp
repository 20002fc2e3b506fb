// Names of the tensors of an encoder, by family.
#pragma once
#include "gpu/checkpoint/encoder_config.hpp"

namespace troupe {

/// Without ".weight" and ".bias". All but `layers` are below a layer.
struct encoder_names {
  const char* layers;  ///< each has its number behind it
  const char *query, *key, *value, *attended;
  const char* attention_norm;
  const char *wide, *narrow;
  const char* norm;
};

const encoder_names& names_of(encoder_family family);

}  // namespace troupe

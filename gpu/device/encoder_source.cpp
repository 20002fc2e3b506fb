#include "gpu/device/encoder_source.hpp"

#include <fmt/format.h>

#include "gpu/common/model_error.hpp"

namespace troupe {

encoder_source read_encoder_source(const model_source& source) {
  encoder_source out{read_encoder_config(source.path)};
  const auto* ids = find_input(source.shapes, "input_ids");
  if (ids == nullptr || ids->dims.size() != 1)
    throw model_error(fmt::format(
        "{}: is an encoder for texts of any length; say how many tokens: shapes = {{ input_ids = [128] }}",
        source.path));
  const auto tokens = ids->dims.front();
  if (tokens < 1 || tokens > out.config.max_tokens)
    throw model_error(fmt::format("{}: texts of {} tokens: the model takes 1 to {}", source.path, tokens,
                                  out.config.max_tokens));
  out.tokens = static_cast<uint32_t>(tokens);
  return out;
}

}  // namespace troupe

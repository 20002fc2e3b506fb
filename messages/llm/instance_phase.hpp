// The part that an instance has in the requests of a model whose prefills and decodes are disaggregated
// (BlitzScale §2.1, DistServe): one computes the prompts, another the tokens after the first.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

enum class instance_phase : uint16_t {
  both,     ///< whole requests
  prefill,  ///< prompts, and the first token of each choice; then another instance goes on
  decode    ///< goes on with the requests of others
};
inline constexpr size_t instance_phase_count = 3;
std::string_view to_string(instance_phase p);

}  // namespace troupe

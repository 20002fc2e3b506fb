#include "gpu/llm/cuda/decoder_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "gpu/checkpoint/model_config.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/kernels/cuda/rms_norm_kernel.hpp"
#include "gpu/kernels/cuda/sampling_kernel.hpp"

namespace troupe::cuda {

decoder_shape shape_of(const llm::model_config& c, uint32_t block_tokens, uint32_t rank, uint32_t ranks) {
  const auto refuse = [](const std::string& what) {
    throw model_error(fmt::format("the CUDA device cannot run this model: {}; use device = \"cpu\"", what));
  };
  if (const auto differs = c.unlike_llama(); !differs.empty())
    refuse(fmt::format("the family {} {}", c.family, differs));
  if (block_tokens == 0 || block_tokens > 4096)
    throw model_error(fmt::format("a block of the KV cache holds 1 to 4096 tokens, not {}", block_tokens));
  if (c.head_dim != 16 && c.head_dim != 32 && c.head_dim != 64 && c.head_dim != 128)
    refuse(fmt::format("its head size is {}, not 16, 32, 64 or 128", c.head_dim));
  if (c.heads / c.kv_heads > 16)
    refuse(fmt::format("{} heads share one kv head; at most 16 are supported", c.heads / c.kv_heads));
  if (c.hidden % 8 != 0 || c.intermediate % 8 != 0 || c.hidden > rms_norm_kernel<element::bf16>::max_width)
    refuse(fmt::format("its hidden sizes are {} and {}; both must be multiples of 8, the first at most {}",
                       c.hidden, c.intermediate, rms_norm_kernel<element::bf16>::max_width));
  constexpr uint32_t max_tokens = sampling_kernel<1>::max_vocabulary;
  if (c.vocabulary > max_tokens)
    refuse(fmt::format("its vocabulary has {} tokens; at most {} are supported", c.vocabulary, max_tokens));
  return {c.layers,     c.hidden,       c.intermediate, c.heads, c.kv_heads, c.head_dim,
          c.vocabulary, c.norm_epsilon, block_tokens,   rank,    ranks};
}

uint32_t kv_blocks(const decoder_shape& shape, uint64_t kv_bytes) {
  const uint64_t page = shape.page_bytes();
  if (kv_bytes < page)
    throw model_error(
        fmt::format("a KV cache of {} bytes has no room for one block of {} tokens, {} bytes: increase it",
                    kv_bytes, shape.block_tokens, page));
  // kernels count vectors in 32 bits
  const uint64_t max_blocks = std::numeric_limits<uint32_t>::max() / (page / (uint64_t{shape.head_dim} * 2));
  return static_cast<uint32_t>(std::min(kv_bytes / page, max_blocks));
}

}  // namespace troupe::cuda

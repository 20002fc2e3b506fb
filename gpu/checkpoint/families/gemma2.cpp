// Gemma 2: scores and logits are capped, and every second layer has a sliding window (gemma.hpp has the
// rest).
#include "gpu/checkpoint/families/family.hpp"
#include "gpu/checkpoint/families/gemma.hpp"
#include "gpu/checkpoint/rotary_embedding.hpp"

namespace troupe::llm {

namespace {

void read_gemma2(const json_object& config, model_config& m) {
  read_gemma(config, 2, m);
  m.score_cap = read_soft_cap(config, "attn_logit_softcapping", 50);
  m.logit_cap = read_soft_cap(config, "final_logit_softcapping", 30);
  m.rope = read_rotary_embedding(config, {.head_dim = m.head_dim, .max_positions = m.max_positions});
}

}  // namespace

const model_family gemma2_family{.name = "gemma2",
                                 .kv_heads = 4,
                                 .head_dim = 256,
                                 .tied_embeddings = true,
                                 .bos = 2,
                                 .eos = 1,
                                 .read = read_gemma2};

}  // namespace troupe::llm

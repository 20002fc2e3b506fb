#include "gpu/encoder/encoder_names.hpp"

namespace troupe {
namespace {

constexpr encoder_names bert_names{
    .layers = "encoder.layer.",
    .query = "attention.self.query",
    .key = "attention.self.key",
    .value = "attention.self.value",
    .attended = "attention.output.dense",
    .attention_norm = "attention.output.LayerNorm",
    .wide = "intermediate.dense",
    .narrow = "output.dense",
    .norm = "output.LayerNorm",
};
constexpr encoder_names mpnet_names{
    .layers = "encoder.layer.",
    .query = "attention.attn.q",
    .key = "attention.attn.k",
    .value = "attention.attn.v",
    .attended = "attention.attn.o",
    .attention_norm = "attention.LayerNorm",
    .wide = "intermediate.dense",
    .narrow = "output.dense",
    .norm = "output.LayerNorm",
};
constexpr encoder_names distilbert_names{
    .layers = "transformer.layer.",
    .query = "attention.q_lin",
    .key = "attention.k_lin",
    .value = "attention.v_lin",
    .attended = "attention.out_lin",
    .attention_norm = "sa_layer_norm",
    .wide = "ffn.lin1",
    .narrow = "ffn.lin2",
    .norm = "output_layer_norm",
};

}  // namespace

const encoder_names& names_of(encoder_family family) {
  switch (family) {
    case encoder_family::mpnet: return mpnet_names;
    case encoder_family::distilbert: return distilbert_names;
    case encoder_family::bert:
    case encoder_family::roberta: break;
  }
  return bert_names;
}

}  // namespace troupe

// What each family reads, in the spelling of published checkpoints and in that of Transformers 5.
#include "gpu/checkpoint/families/family.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::llm;
using nlohmann::json;

namespace {

/// The small configuration as one of this family, with these keys.
json config_of_family(const char* family, const json& keys = json::object()) {
  json config = small_config();
  config["model_type"] = family;
  config["head_dim"] = 4;
  config.update(keys);
  return config;
}

std::string refused_family(const char* family, const json& keys) {
  return error_of([&] { config_of(config_of_family(family, keys)); });
}

json without_keys(json config, std::initializer_list<const char*> keys) {
  for (const char* key : keys) config.erase(key);
  return config;
}

}  // namespace

TEST_CASE("the configurations of the newer families' fixtures are read") {
  const auto of = [](const char* name) { return read_model_config(fixtures / "random-llms" / name); };
  const auto qwen = of("qwen3");
  CHECK(qwen.head_norms);
  CHECK(!qwen.qkv_bias);
  CHECK(!qwen.output_norms);
  CHECK(qwen.window == std::vector<uint32_t>{0, 0});
  CHECK(qwen.rope.frequencies[1] == doctest::Approx(std::pow(1e6, -1.0 / 16)));

  const auto gemma2 = of("gemma2");
  CHECK(!gemma2.head_norms);
  CHECK(gemma2.output_norms);
  CHECK(gemma2.norm_offset == 1);
  CHECK(gemma2.activation == gate_activation::gelu_tanh);
  CHECK(gemma2.embedding_scale == doctest::Approx(std::sqrt(128.0)));
  CHECK(gemma2.score_cap == 50);
  CHECK(gemma2.logit_cap == 30);
  CHECK(gemma2.window == std::vector<uint32_t>{16, 0, 16, 0});
  CHECK(gemma2.attention_scale() == doctest::Approx(1 / std::sqrt(32.0)));
  CHECK(gemma2.tied_embeddings);
  CHECK(gemma2.local_rope.frequencies.empty());

  const auto gemma3 = of("gemma3");
  CHECK(gemma3.head_norms);
  CHECK(gemma3.output_norms);
  CHECK(gemma3.score_cap == 0);
  CHECK(gemma3.logit_cap == 0);
  CHECK(gemma3.window == std::vector<uint32_t>{16, 16, 16, 16, 16, 0});
  CHECK(gemma3.rope.frequencies[1] == doctest::Approx(std::pow(1e6, -1.0 / 16)));
  CHECK(gemma3.local_rope.frequencies[1] == doctest::Approx(std::pow(1e4, -1.0 / 16)));

  const auto phi = of("phi3");
  CHECK(phi.fused_projections);
  CHECK(phi.window == std::vector<uint32_t>{24, 24});
  CHECK(phi.rope.frequencies.size() == 16);
  CHECK(phi.unlike_llama().empty());
}

TEST_CASE("the experts of Mixtral and Qwen3-MoE are read") {
  const auto mixtral = read_model_config(fixtures / "random-llms/mixtral");
  CHECK(mixtral.experts.count == 4);
  CHECK(mixtral.experts.per_token == 2);
  CHECK(mixtral.experts.normalised);
  CHECK(mixtral.intermediate == 128);
  CHECK(mixtral.window == std::vector<uint32_t>{0, 0});
  CHECK(!mixtral.head_norms);
  const auto qwen = read_model_config(fixtures / "random-llms/qwen3-moe");
  CHECK(qwen.experts.count == 8);
  CHECK(qwen.experts.per_token == 2);
  CHECK(qwen.intermediate == 48);
  CHECK(qwen.head_norms);

  auto m = config_of(config_of_family("mixtral"));
  CHECK((m.experts.count == 8 && m.experts.per_token == 2 && m.experts.normalised));
  m = config_of(config_of_family("qwen3_moe"));
  CHECK((m.experts.count == 128 && m.experts.per_token == 8 && !m.experts.normalised));
  CHECK(m.intermediate == 768);
  m = config_of(config_of_family("qwen3_moe", {{"num_experts", 16}, {"num_local_experts", 3}}));
  CHECK(m.experts.count == 16);
  m = config_of(config_of_family("qwen3_moe", {{"use_sliding_window", true}, {"sliding_window", 5}}));
  CHECK(m.window == std::vector<uint32_t>{5, 5});

  CHECK(refused_family("mixtral", {{"num_experts_per_tok", 9}}) ==
        "m/config.json: 'num_experts_per_tok' is 9: the model has only 8 experts");
  CHECK(refused_family("mixtral", {{"num_local_experts", 0}}) ==
        "m/config.json: 'num_local_experts' is 0: it must be an integer from 1 to 1024");
  CHECK(refused_family("qwen3_moe", {{"decoder_sparse_step", 2}}) ==
        "m/config.json: 'decoder_sparse_step' must be 1: models with dense layers between are not supported");
  CHECK(refused_family("qwen3_moe", {{"mlp_only_layers", {0}}}) ==
        "m/config.json: 'mlp_only_layers' must be empty: models with dense layers between are not supported");
}

TEST_CASE("absent keys of the newer families have the defaults of Transformers") {
  const auto bare = [](const char* family) {
    return without_keys(
        config_of_family(family, {{"num_attention_heads", 32}, {"hidden_size", 64}, {"vocab_size", 40000}}),
        {"head_dim", "num_key_value_heads", "rms_norm_eps", "bos_token_id", "eos_token_id"});
  };
  auto m = config_of(bare("qwen3"));
  CHECK(m.head_dim == 128);
  CHECK(m.kv_heads == 32);
  CHECK(!m.bos);
  CHECK(!m.tied_embeddings);

  m = config_of(bare("gemma2"));
  CHECK(m.head_dim == 256);
  CHECK(m.kv_heads == 4);
  CHECK(m.bos == 2);
  CHECK(m.eos == std::vector<token>{1});
  CHECK(m.tied_embeddings);
  CHECK(m.score_cap == 50);
  CHECK(m.logit_cap == 30);
  CHECK(m.query_scale == 1.0F / 16);
  CHECK(m.window == std::vector<uint32_t>{4096, 0});

  m = config_of(bare("gemma3_text"));
  CHECK(m.head_dim == 256);
  CHECK(m.tied_embeddings);
  CHECK(m.window == std::vector<uint32_t>{4096, 4096});
  CHECK(m.rope.frequencies[1] == doctest::Approx(std::pow(1e6, -1.0 / 128)));
  CHECK(m.local_rope.frequencies[1] == doctest::Approx(std::pow(1e4, -1.0 / 128)));

  m = config_of(bare("phi3"));
  CHECK(m.head_dim == 2);
  CHECK(m.kv_heads == 32);
  CHECK(m.norm_epsilon == 1e-5F);
  CHECK(m.eos == std::vector<token>{32000});
  CHECK(m.window == std::vector<uint32_t>{0, 0});
}

TEST_CASE("Qwen3 has biases of queries, keys, values and outputs if its configuration says so") {
  const auto m = config_of(config_of_family("qwen3", {{"attention_bias", true}}));
  CHECK((m.qkv_bias && m.o_bias && !m.mlp_bias));
}

TEST_CASE("caps of Gemma 2 that are null are none, and a query_pre_attn_scalar scales the scores") {
  const auto m = config_of(config_of_family("gemma2", {{"attn_logit_softcapping", nullptr},
                                                       {"final_logit_softcapping", nullptr},
                                                       {"query_pre_attn_scalar", 144}}));
  CHECK(m.score_cap == 0);
  CHECK(m.logit_cap == 0);
  CHECK(m.attention_scale() == doctest::Approx(1.0 / 12));
}

TEST_CASE("layers of Gemma slide by layer_types, or by the family's pattern") {
  const auto windows = [](const char* family, const json& keys) {
    return config_of(config_of_family(family, keys)).window;
  };
  const json types = {{"layer_types", {"full_attention", "sliding_attention"}}, {"sliding_window", 7}};
  CHECK(windows("gemma2", types) == std::vector<uint32_t>{0, 7});
  CHECK(windows("gemma3_text", types) == std::vector<uint32_t>{0, 7});
  CHECK(windows("gemma3_text", {{"sliding_window", 7}, {"sliding_window_pattern", 2}}) ==
        std::vector<uint32_t>{7, 0});
  CHECK(windows("gemma2", {{"sliding_window", nullptr}}) == std::vector<uint32_t>{0, 0});
  CHECK(refused_family("gemma2", {{"layer_types", {"full_attention", "sliding_attention"}},
                                  {"sliding_window", nullptr}}) ==
        "m/config.json: 'layer_types' has sliding layers, but 'sliding_window' gives no window");
}

TEST_CASE("the two rotary embeddings of Gemma 3 are read in both spellings, and only the global one scales") {
  const auto published = config_of(
      config_of_family("gemma3_text", {{"rope_theta", 1e6},
                                       {"rope_local_base_freq", 81},
                                       {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8}}}}));
  const auto newer = config_of(config_of_family(
      "gemma3_text", {{"rope_parameters",
                       {{"full_attention", {{"rope_type", "linear"}, {"factor", 8}, {"rope_theta", 1e6}}},
                        {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 81}}}}}}));
  for (const auto* m : {&published, &newer}) {
    REQUIRE(m->rope.frequencies.size() == 2);
    CHECK(m->rope.frequencies[0] == doctest::Approx(1.0 / 8));
    CHECK(m->rope.frequencies[1] == doctest::Approx(1e-3 / 8));
    CHECK(m->local_rope.frequencies == std::vector<float>{1, 1.0F / 9});
  }
}

TEST_CASE("what the newer families do not support is refused") {
  CHECK(refused_family("qwen3", {{"hidden_act", "gelu"}}) ==
        "m/config.json: 'hidden_act' is 'gelu': only silu is supported");
  CHECK(refused_family("gemma2", {{"hidden_activation", "gelu"}}) ==
        "m/config.json: 'hidden_activation' is 'gelu': only gelu_pytorch_tanh is supported");
  CHECK(refused_family("gemma2", {{"hidden_act", "gelu"}}) == "no error");  // without effect in Gemma 2, too
  CHECK(refused_family("gemma3_text", {{"use_bidirectional_attention", true}}) ==
        "m/config.json: 'use_bidirectional_attention' is set: this is a model of embeddings; only causal "
        "models are supported");
  CHECK(refused_family("gemma3_text", {{"attn_logit_softcapping", 50}}) ==
        "m/config.json: 'attn_logit_softcapping' is set: Gemma 3 does not cap scores, remove it");
  CHECK(refused_family("gemma2", {{"attn_logit_softcapping", 0}}) ==
        "m/config.json: 'attn_logit_softcapping' is 0: it must be a number from 0.001 to 1000000");
  CHECK(refused_family("qwen3", {{"partial_rotary_factor", 0.5}}) ==
        "m/config.json: 'partial_rotary_factor' must be 1: partial rotation is not supported");
  CHECK(refused_family("gemma3", json::object()) ==
        "m/config.json: 'model_type' is 'gemma3': llama, mistral, qwen2, qwen3, gemma2, gemma3_text, phi3, "
        "mixtral "
        "and qwen3_moe are supported");
}

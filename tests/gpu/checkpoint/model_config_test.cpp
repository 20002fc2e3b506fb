#include "gpu/checkpoint/model_config.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::llm;
using nlohmann::json;

namespace {

/// The small configuration with these keys replaced.
json changed(const json& keys) {
  json config = small_config();
  config.update(keys);
  return config;
}

std::string refused_model(const json& keys) {
  return error_of([&] { config_of(changed(keys)); });
}

json without(json config, const char* key) {
  config.erase(key);
  return config;
}

const std::vector<uint32_t> no_window{0, 0};

}  // namespace

TEST_CASE("the fixtures' configurations are read") {
  const auto llama = read_model_config(fixtures / "llama-tasks/base");
  CHECK(llama.family == "llama");
  CHECK(llama.layers == 6);
  CHECK(llama.hidden == 128);
  CHECK(llama.intermediate == 352);
  CHECK(llama.heads == 4);
  CHECK(llama.kv_heads == 2);
  CHECK(llama.head_dim == 32);
  CHECK(llama.vocabulary == 354);
  CHECK(llama.max_positions == 512);
  CHECK(llama.norm_epsilon == 1e-5F);
  CHECK(!llama.tied_embeddings);
  CHECK(!llama.qkv_bias);
  CHECK(!llama.o_bias);
  CHECK(!llama.mlp_bias);
  CHECK(llama.rope.frequencies.size() == 16);
  CHECK(llama.window == std::vector<uint32_t>(6, 0));
  CHECK(llama.bos == 1);
  CHECK(llama.eos == std::vector<token>{2});

  const auto gqa = read_model_config(fixtures / "random-llms/llama3-gqa-tied");
  CHECK(gqa.tied_embeddings);
  CHECK(gqa.heads == 8);
  CHECK(gqa.kv_heads == 1);
  CHECK(gqa.rope.frequencies.back() == doctest::Approx(1.2891731721515574e-06).epsilon(1e-6));

  const auto mistral = read_model_config(fixtures / "random-llms/mistral-swa");
  CHECK(mistral.family == "mistral");
  CHECK(mistral.window == std::vector<uint32_t>{16, 16, 16});

  const auto qwen = read_model_config(fixtures / "random-llms/qwen2-bias");
  CHECK(qwen.family == "qwen2");
  CHECK(qwen.head_dim == 32);
  CHECK(qwen.qkv_bias);
  CHECK(!qwen.o_bias);
  CHECK(qwen.window == no_window);
  CHECK(!qwen.bos);
  CHECK(qwen.eos.empty());
}

TEST_CASE("projections have the rows and columns of grouped attention with heads of any width") {
  const auto m = config_of(changed({{"head_dim", 6}}));
  CHECK(m.q_width() == 24);
  CHECK(m.kv_width() == 12);
  const auto shape = [&](projection p) { return std::pair(m.out_of(p), m.in_of(p)); };
  CHECK(shape(projection::q) == std::pair(24U, 8U));
  CHECK(shape(projection::k) == std::pair(12U, 8U));
  CHECK(shape(projection::v) == std::pair(12U, 8U));
  CHECK(shape(projection::o) == std::pair(8U, 24U));
  CHECK(shape(projection::gate) == std::pair(12U, 8U));
  CHECK(shape(projection::up) == std::pair(12U, 8U));
  CHECK(shape(projection::down) == std::pair(8U, 12U));
  CHECK(name_of(projection::q) == "q_proj");
  CHECK(name_of(projection::down) == "down_proj");
}

TEST_CASE("absent keys of a configuration have the defaults of Transformers") {
  auto config = small_config();
  for (const char* key : {"num_key_value_heads", "rms_norm_eps", "bos_token_id", "eos_token_id"})
    config.erase(key);
  auto m = config_of(config);
  CHECK(m.kv_heads == 4);
  CHECK(m.head_dim == 2);
  CHECK(m.norm_epsilon == 1e-6F);
  CHECK(m.rope.frequencies == std::vector<float>{1});
  CHECK(m.bos == 1);
  CHECK(m.eos == std::vector<token>{2});

  config.update({{"num_attention_heads", 8}, {"hidden_size", 32}, {"model_type", "mistral"}});
  m = config_of(config);
  CHECK(m.kv_heads == 8);
  CHECK(m.window == std::vector<uint32_t>{4096, 4096});

  config.update({{"num_attention_heads", 32}, {"hidden_size", 64}, {"model_type", "qwen2"}});
  m = config_of(config);
  CHECK(m.kv_heads == 32);
  CHECK(m.window == no_window);
  CHECK(!m.bos);
  CHECK(m.eos.empty());

  config.update({{"num_key_value_heads", nullptr}, {"head_dim", nullptr}, {"model_type", "mistral"}});
  CHECK(config_of(config).kv_heads == 32);
}

TEST_CASE("only a Llama configuration may place biases") {
  const json biases = {{"attention_bias", true}, {"mlp_bias", true}};
  const auto all = [](const model_config& m) { return std::vector<bool>{m.qkv_bias, m.o_bias, m.mlp_bias}; };
  CHECK(all(config_of(changed(biases))) == std::vector<bool>{true, true, true});
  CHECK(all(config_of(changed({{"attention_bias", true}}))) == std::vector<bool>{true, true, false});
  auto other = changed(biases);
  other["model_type"] = "qwen2";
  CHECK(all(config_of(other)) == std::vector<bool>{true, false, false});
  other["model_type"] = "mistral";
  CHECK(all(config_of(other)) == std::vector<bool>{false, false, false});
}

TEST_CASE("every layer of a Mistral has the sliding window, and no layer of a Llama") {
  CHECK(config_of(changed({{"model_type", "mistral"}, {"sliding_window", 5}})).window ==
        std::vector<uint32_t>{5, 5});
  CHECK(config_of(changed({{"model_type", "mistral"}, {"sliding_window", nullptr}})).window == no_window);
  CHECK(config_of(changed({{"sliding_window", 5}})).window == no_window);
  CHECK(refused_model({{"model_type", "mistral"}, {"sliding_window", 0}}) ==
        "m/config.json: 'sliding_window' is 0: it must be an integer from 1 to 2147483648");
}

TEST_CASE("layers of a Qwen2 have the window from max_window_layers on, or by layer_types") {
  json qwen = {
      {"model_type", "qwen2"}, {"sliding_window", 5}, {"use_sliding_window", true}, {"max_window_layers", 1}};
  CHECK(config_of(changed(qwen)).window == std::vector<uint32_t>{0, 5});
  qwen["max_window_layers"] = 0;
  CHECK(config_of(changed(qwen)).window == std::vector<uint32_t>{5, 5});
  qwen["layer_types"] = {"sliding_attention", "full_attention"};
  CHECK(config_of(changed(qwen)).window == std::vector<uint32_t>{5, 0});
  qwen["layer_types"] = nullptr;
  qwen["use_sliding_window"] = false;
  CHECK(config_of(changed(qwen)).window == no_window);
  qwen.update({{"use_sliding_window", true}, {"sliding_window", nullptr}});
  CHECK(config_of(changed(qwen)).window == no_window);

  qwen["layer_types"] = {"sliding_attention", "full_attention"};
  CHECK(refused_model(qwen) ==
        "m/config.json: 'layer_types' has sliding layers, but 'use_sliding_window' and "
        "'sliding_window' give no window");
  qwen["layer_types"] = {"full_attention"};
  CHECK(refused_model(qwen) ==
        "m/config.json: 'layer_types' must be a list with an entry for each of the 2 layers");
  qwen["layer_types"] = {"full_attention", "chunked_attention"};
  CHECK(refused_model(qwen) ==
        "m/config.json: 'layer_types.1' is \"chunked_attention\": it must be \"full_attention\" or "
        "\"sliding_attention\"");
}

TEST_CASE("BOS and EOS of generation_config.json go before those of config.json") {
  const json as_it_is = json::object();
  const auto with = [](const json& config, const std::string& generation) {
    return parse_model_config(changed(config).dump(), generation, "m");
  };
  CHECK(with({{"eos_token_id", {2, 3}}}, "").eos == std::vector<token>{2, 3});
  CHECK(with(as_it_is, R"({"eos_token_id": [7, 8], "bos_token_id": 6})").eos == std::vector<token>{7, 8});
  CHECK(with(as_it_is, R"({"eos_token_id": 7, "bos_token_id": 6})").bos == 6);
  CHECK(with(as_it_is, R"({"eos_token_id": null})").eos == std::vector<token>{2});
  CHECK(with(as_it_is, "{}").bos == 1);
  CHECK(with({{"eos_token_id", nullptr}, {"bos_token_id", nullptr}}, "{}").eos.empty());
  CHECK(!with({{"eos_token_id", nullptr}, {"bos_token_id", nullptr}}, "").bos);
  const auto error = [&](const std::string& generation) {
    return error_of([&] { with(as_it_is, generation); });
  };
  CHECK(error(R"({"eos_token_id": [7, 10]})") ==
        "m/generation_config.json: 'eos_token_id' is 10: it must be a token from 0 to 9");
  CHECK(error("[") == "m/generation_config.json: is not JSON from byte 2 on");
  CHECK(refused_model({{"bos_token_id", -1}}) ==
        "m/config.json: 'bos_token_id' is -1: it must be a token from 0 to 9");
  CHECK(refused_model({{"eos_token_id", "</s>"}}) ==
        "m/config.json: 'eos_token_id' is \"</s>\": it must be a token from 0 to 9");
  CHECK(refused_model({{"eos_token_id", std::vector<int>(2000, 2)}}) ==
        "m/config.json: 'eos_token_id' has more than 1024 tokens");
}

TEST_CASE("generation_config.json is optional") {
  const temporary_folder folder;
  folder.write("config.json", small_config().dump());
  CHECK(read_model_config(folder.path).eos == std::vector<token>{2});
  folder.write("generation_config.json", R"({"eos_token_id": 4})");
  CHECK(read_model_config(folder.path).eos == std::vector<token>{4});
  CHECK(error_of([&] { read_model_config(folder.path / "none"); }) ==
        (folder.path / "none/config.json").string() + ": No such file or directory");
}

TEST_CASE("unsupported models are refused with the supported alternatives") {
  CHECK(refused_model({{"model_type", "gpt2"}}) ==
        "m/config.json: 'model_type' is 'gpt2': llama, mistral, qwen2, qwen3, gemma2, gemma3_text, phi3, "
        "mixtral "
        "and qwen3_moe are supported");
  CHECK(error_of([] { config_of(without(small_config(), "model_type")); }) ==
        "m/config.json: 'model_type' is missing");
  CHECK(refused_model({{"hidden_act", "gelu"}}) ==
        "m/config.json: 'hidden_act' is 'gelu': only silu is supported");
  CHECK(refused_model({{"quantization_config", {{"quant_method", "awq"}}}}) ==
        "m/config.json: 'quantization_config' is set: quantized checkpoints are not supported, use one of "
        "F32, F16 or BF16");
  CHECK(refused_model({{"quantization_config", nullptr}, {"hidden_act", "silu"}}) == "no error");
  CHECK(refused_model({{"rope_scaling", {{"type", "yarn"}}}}) ==
        "m/config.json: 'rope_scaling.type' is 'yarn': only default, linear and llama3 are supported");
}

TEST_CASE("missing or out-of-range numbers of a model are refused") {
  for (const char* key :
       {"num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings",
        "num_attention_heads", "num_key_value_heads", "head_dim"}) {
    for (const json& value :
         {json(0), json(-1), json(1.5), json("8"), json(uint64_t{1} << 33), json::array({8})}) {
      const auto error = refused_model({{key, value}});
      CHECK_MESSAGE(error.starts_with(fmt::format("m/config.json: '{}' is ", key)), error);
      CHECK_MESSAGE(error.find("it must be an integer from ") != std::string::npos, error);
    }
  }
  for (const char* key : {"num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size",
                          "max_position_embeddings", "num_attention_heads"}) {
    CHECK(error_of([&] { config_of(without(small_config(), key)); }) ==
          fmt::format("m/config.json: '{}' is missing", key));
  }
  CHECK(refused_model({{"num_hidden_layers", 1025}}) ==
        "m/config.json: 'num_hidden_layers' is 1025: it must be an integer from 1 to 1024");
  CHECK(refused_model({{"num_key_value_heads", 3}}) ==
        "m/config.json: 'num_attention_heads' is 4: it must be a multiple of the 3 key and value heads");
  CHECK(refused_model({{"hidden_size", 10}}) ==
        "m/config.json: 'hidden_size' is 10: without 'head_dim' it must be a multiple of the 4 heads");
  CHECK(refused_model({{"head_dim", 3}}) ==
        "m/config.json: 'head_dim' is 3: it must be even and from 2 to 256");
  CHECK(refused_model({{"hidden_size", 4}}) ==
        "m/config.json: 'head_dim' is 1: it must be even and from 2 to 256");
  CHECK(refused_model({{"hidden_size", 8192}}) ==
        "m/config.json: 'head_dim' is 2048: it must be even and from 2 to 256");
  CHECK(refused_model({{"rms_norm_eps", 0}}) ==
        "m/config.json: 'rms_norm_eps' is 0: it must be a number from 1e-12 to 1");
  CHECK(refused_model({{"tie_word_embeddings", 1}}) ==
        "m/config.json: 'tie_word_embeddings' is 1: it must be true or false");
}

#include "gpu/checkpoint/encoder_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/checkpoint/json_object.hpp"
#include "gpu/common/is_missing.hpp"
#include "gpu/common/mapped_file.hpp"
#include "gpu/common/model_error.hpp"
#include "messages/common/parse_json.hpp"

namespace troupe {
namespace {

using llm::json_object;

constexpr size_t max_config_bytes = 16 << 20, max_tokenizer_bytes = 256 << 20;
// Far beyond every existing model. Larger values are damage, and would be allocated.
constexpr uint64_t max_layers = 1024, max_heads = 1024, widest = 1 << 20, max_vocabulary = 1 << 24,
                   max_positions = 1 << 20, max_types = 1024, max_labels = 1 << 16;
constexpr uint32_t mpnet_buckets = 32, max_mpnet_tokens = 4096;
constexpr uint64_t max_mpnet_biases = 256 << 20;  // 1 GiB: heads x tokens x tokens
constexpr uint32_t usual_positions = 512;         // of a network whose config.json does not say

// Positions begin behind that of the padding.
constexpr std::array<std::string_view, 6> kin_of_roberta{"roberta", "xlm-roberta",    "camembert",
                                                         "mpnet",   "xlm-roberta-xl", "roberta-prelayernorm"};

llm::ordered_json read_json(const std::filesystem::path& file) {
  return llm::parse_object(read_text(file, max_config_bytes), file.string());
}

bool classifies(const llm::ordered_json& config) {
  const auto list = config.find("architectures");
  if (list == config.end() || !list->is_array()) return false;
  return std::ranges::any_of(*list, [](const auto& a) {
    return a.is_string() && a.template get_ref<const std::string&>().ends_with("ForSequenceClassification");
  });
}

uint32_t size_of(const json_object& config, const char* key, uint64_t max) {
  return static_cast<uint32_t>(config.integer(key, 1, max));
}

encoder_family family_of(const std::string& model_type) {
  if (model_type == "mpnet") return encoder_family::mpnet;
  if (model_type == "distilbert") return encoder_family::distilbert;
  return model_type == "bert" ? encoder_family::bert : encoder_family::roberta;
}

/// Keys of config.json.
struct encoder_keys {
  const char *layers, *hidden, *heads, *intermediate, *activation;
};
constexpr encoder_keys usual_keys{"num_hidden_layers", "hidden_size", "num_attention_heads",
                                  "intermediate_size", "hidden_act"};
constexpr encoder_keys distilbert_keys{"n_layers", "dim", "n_heads", "hidden_dim", "activation"};

void read_shape(const json_object& config, const encoder_keys& keys, encoder_config& e) {
  e.layers = size_of(config, keys.layers, max_layers);
  e.hidden = size_of(config, keys.hidden, widest);
  e.heads = size_of(config, keys.heads, max_heads);
  if (e.hidden % e.heads != 0)
    config.fail(keys.hidden, fmt::format("is {}: it must be a multiple of the {} heads", e.hidden, e.heads));
  e.intermediate = size_of(config, keys.intermediate, widest);
  e.vocabulary = size_of(config, "vocab_size", max_vocabulary);
  e.positions = size_of(config, "max_position_embeddings", max_positions);
}

/// Types and positions of tokens, by family.
void read_tokens(const json_object& config, encoder_config& e) {
  const bool roberta = e.family == encoder_family::roberta, mpnet = e.family == encoder_family::mpnet;
  if (roberta || e.family == encoder_family::bert)
    e.types = static_cast<uint32_t>(config.integer("type_vocab_size", 1, max_types, roberta ? 1 : 2));
  e.padding =
      static_cast<uint32_t>(config.integer("pad_token_id", 0, e.vocabulary - 1, roberta || mpnet ? 1 : 0));
  if (roberta) e.first_position = e.padding + 1;
  if (mpnet) e.first_position = 2;  // whatever the padding
  if (e.positions <= e.first_position + 2)
    config.fail("max_position_embeddings", fmt::format("is {}: too few for a text", e.positions));
  e.max_tokens = e.positions - e.first_position;
}

void read_kinds(const json_object& config, const encoder_keys& keys, encoder_config& e) {
  if (e.family != encoder_family::distilbert)  // whose value is fixed
    e.norm_epsilon = static_cast<float>(config.number("layer_norm_eps", 1e-15, 1, 1e-12));
  e.activation = config.text(keys.activation, std::string("gelu"));
  if (e.activation == "gelu_pytorch_tanh" || e.activation == "gelu_fast") e.activation = "gelu_new";
  if (e.activation != "gelu" && e.activation != "gelu_new" && e.activation != "relu")
    config.fail(
        keys.activation,
        fmt::format("is '{}': supported are gelu, gelu_new, gelu_pytorch_tanh and relu", e.activation));
  if (const auto p = config.text("position_embedding_type", std::string("absolute")); p != "absolute")
    config.fail("position_embedding_type", fmt::format("is '{}': only 'absolute' is supported", p));
  if (config.flag("is_decoder", false)) config.fail("is_decoder", "is true: encoders only");
  if (e.family != encoder_family::mpnet) return;
  if (const auto n = config.integer("relative_attention_num_buckets", 1, max_positions, mpnet_buckets);
      n != mpnet_buckets)
    config.fail("relative_attention_num_buckets",
                fmt::format("is {}: only {} is supported", n, mpnet_buckets));
  if (e.max_tokens > max_mpnet_tokens)
    config.fail("max_position_embeddings", fmt::format("is {}: at most {} with attention by distances",
                                                       e.positions, max_mpnet_tokens + 2));
  if (const auto n = uint64_t{e.heads} * e.max_tokens * e.max_tokens; n > max_mpnet_biases)
    config.fail(keys.heads, fmt::format("is {}: attention by distances has {} x {} x {} = {} biases, and at "
                                        "most {} are supported",
                                        e.heads, e.heads, e.max_tokens, e.max_tokens, n, max_mpnet_biases));
}

uint32_t labels_of(const json_object& config) {
  const auto names = config.object("id2label");
  const auto otherwise = names ? std::max<size_t>(names->items().size(), 1) : 2;
  return static_cast<uint32_t>(config.integer("num_labels", 1, max_labels, otherwise));
}

/// Whether the scores of a classifier with one label are those of a logistic function, as Sentence
/// Transformers says in one of two places.
bool sigmoid_of(const json_object& config) {
  const auto nested = config.object("sentence_transformers");
  const auto name = config.text("sbert_ce_default_activation_function",
                                nested ? nested->text("activation_fn", std::string()) : std::string());
  const auto kind = name.substr(name.rfind('.') + 1);
  if (kind.empty() || kind == "Sigmoid") return true;
  if (kind != "Identity")
    config.fail(
        "sbert_ce_default_activation_function",
        fmt::format("or sentence_transformers.activation_fn is '{}': supported are Sigmoid and Identity",
                    name));
  return false;
}

/// Sentence Transformers' list of what follows the encoder.
void read_modules(const std::filesystem::path& folder, encoder_config& e) {
  const auto file = folder / "modules.json";
  std::filesystem::path pooling = folder / "1_Pooling" / "config.json";
  if (!is_missing(file)) {
    const auto list = parse_json(read_text(file, max_config_bytes));
    const auto fail = [&](const std::string& what) {
      throw model_error(fmt::format("{}: {}", file.string(), what));
    };
    if (!list.is_array()) fail("is not a list of modules: is the file complete?");
    e.normalise = false;
    for (const auto& m : list) {
      if (!m.is_object() || !m.contains("type") || !m["type"].is_string())
        fail("has a module without a type");
      const auto& type = m["type"].get_ref<const std::string&>();
      const auto kind = type.substr(type.rfind('.') + 1);
      if (kind == "Normalize")
        e.normalise = true;
      else if (kind == "Pooling" && m.contains("path") && m["path"].is_string())
        pooling = folder / std::filesystem::path(m["path"].get<std::string>()).filename() / "config.json";
      else if (kind != "Transformer" && kind != "Pooling")
        fail(fmt::format("has the module '{}': supported are Transformer, Pooling and Normalize", type));
    }
  }
  if (is_missing(pooling)) return;
  const auto text = read_json(pooling);
  const auto name = pooling.string();
  const json_object config(text, name);
  const bool mean = config.flag("pooling_mode_mean_tokens", false);
  const bool cls = config.flag("pooling_mode_cls_token", false);
  for (const auto& [key, value] : text.items())
    if (key.starts_with("pooling_mode_") && value == true && key != "pooling_mode_mean_tokens" &&
        key != "pooling_mode_cls_token")
      config.fail(key, "is true: supported are pooling_mode_mean_tokens and pooling_mode_cls_token");
  if (mean == cls)
    config.fail("pooling_mode_mean_tokens", "and pooling_mode_cls_token: exactly one must be true");
  e.pooling = mean ? encoder_pooling::mean : encoder_pooling::cls;
}

/// The limits that tokenizers and Sentence Transformers state: the smallest one counts.
void read_limits(const std::filesystem::path& folder, encoder_config& e) {
  const auto limit = [&](const char* file, const char* key) {
    const auto path = folder / file;
    if (is_missing(path)) return;
    const auto text = read_json(path);
    const auto value = text.find(key);
    // "no limit" is written as 10^30
    if (value == text.end() || !value->is_number()) return;
    const auto n = value->get<double>();
    if (n >= 3) e.max_tokens = static_cast<uint32_t>(std::min<double>(e.max_tokens, n));
  };
  limit("sentence_bert_config.json", "max_seq_length");
  limit("tokenizer_config.json", "model_max_length");
}

/// A positive number; 0: config.json lacks it, or has something else.
uint32_t size_if_stated(const llm::ordered_json& config, const char* key, uint64_t max) {
  const auto value = config.find(key);
  if (value == config.end() || !value->is_number_unsigned()) return 0;
  const auto n = value->get<uint64_t>();
  return n <= max ? static_cast<uint32_t>(n) : 0;
}

/// The id of the token behind shorter texts, by its usual names; 0 if there is none.
uint32_t padding_of_tokenizer(const std::filesystem::path& folder) {
  const auto file = folder / "tokenizer.json";
  const auto text = parse_json(read_text(file, max_tokenizer_bytes));
  if (!text.is_object() || !text.contains("added_tokens") || !text["added_tokens"].is_array()) return 0;
  for (const auto& t : text["added_tokens"]) {
    const auto* entry = t.is_object() ? &t : nullptr;
    if (entry == nullptr || !entry->contains("content") || !entry->contains("id")) continue;
    const auto& [name, id] = std::pair((*entry)["content"], (*entry)["id"]);
    if ((name == "[PAD]" || name == "<pad>") && id.is_number_unsigned() && id < max_vocabulary)
      return id.get<uint32_t>();
  }
  return 0;
}

/// The parts of config.json that the graph of an ONNX file does not say; the file may be missing.
void read_beside_onnx(const std::filesystem::path& folder, const llm::ordered_json& text, encoder_config& e) {
  const auto type = text.contains("model_type") && text["model_type"].is_string()
                        ? text["model_type"].get<std::string>()
                        : std::string();
  e.vocabulary = size_if_stated(text, "vocab_size", max_vocabulary);
  const bool names_padding = text.contains("pad_token_id") && text["pad_token_id"].is_number_unsigned();
  e.padding =
      names_padding ? size_if_stated(text, "pad_token_id", max_vocabulary) : padding_of_tokenizer(folder);
  e.positions = size_if_stated(text, "max_position_embeddings", max_positions);
  e.first_position = std::ranges::count(kin_of_roberta, type) > 0 ? e.padding + 1 : 0;
  const bool stated = e.positions > e.first_position + 2;
  e.max_tokens = stated ? e.positions - e.first_position : usual_positions;
}

/// The parts that config.json and the files beside it say of any network.
void read_answer(const std::filesystem::path& folder, const llm::ordered_json& text, const std::string& file,
                 encoder_config& e) {
  const json_object config(text, file);
  if (classifies(text)) {
    e.pooling = encoder_pooling::classifier;
    e.labels = labels_of(config);
    e.sigmoid = sigmoid_of(config);
  } else {
    read_modules(folder, e);
  }
  read_limits(folder, e);
}

}  // namespace

encoder_config read_encoder_config(const std::filesystem::path& folder) {
  encoder_config e;
  e.folder = folder.string();
  e.onnx = encoder_onnx_file(folder).string();
  if (e.onnx.empty()) require_tokenizer(folder);
  const auto file = (folder / "config.json").string();
  const bool missing = !e.onnx.empty() && is_missing(file);
  const auto text = missing ? llm::ordered_json::object() : read_json(file);
  if (!e.onnx.empty()) {
    read_beside_onnx(folder, text, e);
  } else {
    const json_object config(text, file);
    const auto type = config.text("model_type");
    if (!is_encoder_family(type))
      config.fail("model_type", fmt::format("is '{}': supported encoders are bert, roberta, xlm-roberta, "
                                            "camembert, mpnet and distilbert, and others as an ONNX file, "
                                            "model.onnx",
                                            type));
    e.family = family_of(type);
    const auto& keys = e.family == encoder_family::distilbert ? distilbert_keys : usual_keys;
    read_shape(config, keys, e);
    read_tokens(config, e);
    read_kinds(config, keys, e);
  }
  read_answer(folder, text, file, e);
  return e;
}

}  // namespace troupe

#include "gpu/checkpoint/encoder_folder.hpp"

#include <doctest/doctest.h>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/common/model_error.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

constexpr auto of_bert = R"({"model_type": "bert", "architectures": ["BertModel"]})";
constexpr auto of_roformer = R"({"model_type": "roformer", "architectures": ["RoFormerForMaskedLM"],
  "max_position_embeddings": 512, "pad_token_id": 1, "vocab_size": 30527})";
constexpr auto of_llama = R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"]})";

/// A folder with an ONNX file and a tokenizer, of which nothing here reads the network.
struct onnx_folder {
  explicit onnx_folder(std::string_view config = "", std::string_view tokenizer = "{}") {
    std::filesystem::create_directory(folder / "onnx");
    folder.write("onnx/model.onnx", "");
    if (!tokenizer.empty()) folder.write("tokenizer.json", tokenizer);
    if (!config.empty()) folder.write("config.json", config);
  }
  std::filesystem::path file() const { return encoder_onnx_file(folder.path); }
  encoder_config config() const { return read_encoder_config(folder.path); }
  std::string error() const {
    try {
      config();
      return "none";
    } catch (const model_error& e) {
      return std::string(e.what()).substr(folder.path.string().size());
    }
  }
  temporary_folder folder;
};

}  // namespace

TEST_CASE("encoder folder: an ONNX file runs beside a tokenizer, in either place") {
  const onnx_folder f;
  CHECK(f.file() == f.folder / "onnx/model.onnx");
  CHECK(is_encoder_folder(f.folder.path));
  f.folder.write("model.onnx", "");
  CHECK(f.file() == f.folder / "model.onnx");
  std::filesystem::remove(f.folder / "tokenizer.json");
  CHECK(f.file().empty());
  CHECK_FALSE(is_encoder_folder(f.folder.path));
}

TEST_CASE("encoder folder: safetensors of a supported family are preferred") {
  const onnx_folder bert(of_bert), roformer(of_roformer);
  CHECK_FALSE(bert.file().empty());
  for (const auto* f : {&bert, &roformer}) f->folder.write("model.safetensors", "");
  CHECK(bert.file().empty());
  CHECK(is_encoder_folder(bert.folder.path));
  CHECK_FALSE(roformer.file().empty());
}

TEST_CASE("encoder folder: models that generate texts are none") {
  const onnx_folder f(of_llama);
  CHECK(f.file().empty());
  CHECK_FALSE(is_encoder_folder(f.folder.path));
  const onnx_folder nameless(R"({"model_type": "llama"})");
  CHECK_FALSE(nameless.file().empty());
  nameless.folder.write("model.safetensors", "");
  CHECK(nameless.file().empty());
  CHECK_FALSE(is_encoder_folder(nameless.folder.path));
}

TEST_CASE("encoder folder: without config.json the usual values count") {
  const onnx_folder f("",
                      R"({"added_tokens": [{"id": 3, "content": "<s>"}, {"id": 5, "content": "<pad>"}]})");
  const auto e = f.config();
  CHECK(e.onnx == (f.folder / "onnx/model.onnx").string());
  CHECK(e.max_tokens == 512);
  CHECK(e.padding == 5);
  CHECK(e.vocabulary == 0);
  CHECK(e.pooling == encoder_pooling::mean);
  CHECK(e.normalise);
}

TEST_CASE("encoder folder: config.json and its companions count as far as they are there") {
  const onnx_folder f(of_roformer);
  auto e = f.config();
  CHECK(e.max_tokens == 512);
  CHECK(e.padding == 1);
  CHECK(e.vocabulary == 30527);
  f.folder.write("sentence_bert_config.json", R"({"max_seq_length": 384})");
  f.folder.write("modules.json", R"([{"type": "sentence_transformers.models.Transformer"}])");
  e = f.config();
  CHECK(e.max_tokens == 384);
  CHECK_FALSE(e.normalise);
  f.folder.write("config.json", R"({"architectures": ["XForSequenceClassification"], "num_labels": 1,
    "max_position_embeddings": -1, "hidden_size": "wide", "pad_token_id": null})");
  e = f.config();
  CHECK(e.reranks());
  CHECK(e.max_tokens == 384);
}

TEST_CASE("encoder folder: a missing tokenizer and other networks are named") {
  CHECK(onnx_folder("", "").error() ==
        ": has onnx/model.onnx and no tokenizer.json: copy the one that belongs to the model");
  CHECK(onnx_folder("[]").error().starts_with("/config.json"));
  CHECK(onnx_folder(of_llama).error().find("'model_type' is 'llama': supported encoders are") !=
        std::string::npos);
}

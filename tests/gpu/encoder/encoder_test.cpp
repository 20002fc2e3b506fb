// Encoders as the native engine runs them, against Transformers.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "gpu/checkpoint/encoder_config.hpp"
#include "gpu/checkpoint/encoder_folder.hpp"
#include "gpu/common/model_error.hpp"
#include "gpu/device/cpu_device.hpp"
#include "gpu/device/engine_choice.hpp"
#include "gpu/device/model_library.hpp"
#include "gpu/encoder/encoder_graph.hpp"
#include "gpu/onnx/model.hpp"

using namespace troupe;
using nlohmann::json;

namespace {

const std::filesystem::path encoders = std::filesystem::path(TROUPE_FIXTURES) / "encoders";

json golden(const char* folder) { return json::parse(std::ifstream(encoders / folder / "golden.json")); }

std::unique_ptr<batch_model> loaded(const char* folder, int64_t tokens) {
  model_source s;
  s.path = (encoders / folder).string();
  s.max_batch = 8;
  s.shapes = {{"input_ids", {tokens}}};
  return on_cpu({})(s);
}

struct text_row {
  std::vector<int64_t> ids, types;
};

/// The answers to the texts, all in one batch.
std::vector<std::vector<float>> answers(batch_model& model, const std::vector<text_row>& rows,
                                        int64_t padding) {
  const auto& inputs = model.signature().inputs;
  const auto tokens = static_cast<size_t>(inputs[0].shape[0]);
  std::vector<int64_t> in;
  for (const auto& input : inputs)
    for (const auto& r : rows)
      for (size_t i = 0; i < tokens; ++i) {
        const bool there = i < r.ids.size();
        in.push_back(input.name == "input_ids"        ? (there ? r.ids[i] : padding)
                     : input.name == "attention_mask" ? there
                                                      : (there && i < r.types.size() ? r.types[i] : 0));
      }
  const auto width = static_cast<size_t>(elements(model.signature().outputs[0]));
  std::vector<float> out(rows.size() * width);
  const batch_part part{static_cast<uint32_t>(rows.size()), std::as_bytes(std::span{in}),
                        std::as_writable_bytes(std::span{out})};
  CHECK(model.run(part.rows, {&part, 1}, nullptr));
  std::vector<std::vector<float>> split;
  for (size_t i = 0; i < rows.size(); ++i)
    split.emplace_back(out.begin() + static_cast<std::ptrdiff_t>(i * width),
                       out.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
  return split;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) difference += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return std::sqrt(difference / size);
}

}  // namespace

namespace {

/// At each length all texts are one batch. They have two inputs, and the padding 1.
void check_golden_embeddings(const char* folder, int64_t longest_length) {
  std::vector<text_row> rows;
  std::vector<std::vector<float>> expected;
  for (const auto& g : golden(folder)) {
    rows.push_back({g["ids"], {}});
    expected.push_back(g["embedding"]);
  }
  size_t longest = 0;
  for (const auto& r : rows) longest = std::max(longest, r.ids.size());
  for (const int64_t tokens : {static_cast<int64_t>(longest), longest_length}) {
    const auto model = loaded(folder, tokens);
    CHECK(model->signature().inputs.size() == 2);
    const auto got = answers(*model, rows, 1);
    for (size_t i = 0; i < rows.size(); ++i) CHECK(distance(got[i], expected[i]) < 1e-4);
    CHECK(answers(*model, {rows[0]}, 1)[0] == got[0]);
  }
}

}  // namespace

TEST_CASE("encoder: XLM-R with cls pooling gives what Transformers gives, at any length of the batch") {
  check_golden_embeddings("xlmr", 126);
}

TEST_CASE("encoder: MPNet, whose attention depends on distances, gives what Transformers gives") {
  check_golden_embeddings("mpnet", 256);
}

TEST_CASE("encoder: lengths of MPNet share their weights") {
  model_library library;
  model_source s;
  s.path = (encoders / "mpnet").string();
  s.shapes = {{"input_ids", {32}}};
  const auto few = library.model_on_cpu(s);
  s.shapes = {{"input_ids", {256}}};
  const auto many = library.model_on_cpu(s);
  CHECK(few.model->layers() == many.model->layers());
  CHECK(few.weights == many.weights);
}

TEST_CASE("encoder: a DistilBERT cross-encoder gives the scores of pairs") {
  std::vector<text_row> rows;
  std::vector<float> expected;
  for (const auto& g : golden("distilbert")) {
    rows.push_back({g["ids"], {}});
    expected.push_back(g["logit"]);
  }
  const auto model = loaded("distilbert", 128);
  CHECK(model->signature().inputs.size() == 2);
  const auto got = answers(*model, rows, 0);
  for (size_t i = 0; i < rows.size(); ++i) CHECK(got[i][0] == doctest::Approx(expected[i]).epsilon(1e-4));
}

TEST_CASE("encoder: a BERT cross-encoder gives the scores of pairs") {
  std::vector<text_row> rows;
  std::vector<float> expected;
  for (const auto& g : golden("cross-encoder")) {
    const std::vector<int64_t> ids = g["ids"];
    const auto first = static_cast<size_t>(std::ranges::find(ids, 3) - ids.begin()) + 1;
    std::vector<int64_t> types(ids.size(), 1);
    std::fill_n(types.begin(), first, 0);
    rows.push_back({ids, types});
    expected.push_back(g["logit"]);
  }
  const auto model = loaded("cross-encoder", 128);
  CHECK(model->signature().outputs[0].name == "logits");
  const auto got = answers(*model, rows, 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i][0] == doctest::Approx(expected[i]).epsilon(1e-4));
  }
}

namespace {

/// The message of the error for a copy of a folder with this change to its config.json.
std::string config_refusal(const std::function<void(json&)>& change, const char* folder = "cross-encoder") {
  const auto at =
      std::filesystem::temp_directory_path() / fmt::format("troupe_encoder_config_{}", ::getpid());
  std::filesystem::remove_all(at);
  std::filesystem::copy(encoders / folder, at, std::filesystem::copy_options::recursive);
  auto config = json::parse(std::ifstream(at / "config.json"));
  change(config);
  std::filesystem::permissions(at / "config.json", std::filesystem::perms::owner_all);
  std::ofstream(at / "config.json") << config;
  std::string said;
  try {
    encoder_graph(read_encoder_config(at), 8);
  } catch (const model_error& e) {
    said = e.what();
  }
  std::filesystem::remove_all(at);
  return said;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("encoder: what is not supported is named") {
  CHECK(config_refusal([](json&) {}).empty());
  CHECK(has(config_refusal([](json& c) { c["model_type"] = "t5"; }), "'model_type' is 't5'"));
  CHECK(has(config_refusal([](json& c) { c["hidden_act"] = "silu"; }), "'hidden_act' is 'silu'"));
  CHECK(
      has(config_refusal([](json& c) { c["position_embedding_type"] = "relative_key"; }), "only 'absolute'"));
  CHECK(has(config_refusal([](json& c) { c["num_attention_heads"] = 5; }), "multiple of the 5 heads"));
  CHECK(has(config_refusal([](json& c) { c["hidden_size"] = 192; }), "has the shape [1200, 96]"));
  CHECK(has(config_refusal([](json& c) { c["num_hidden_layers"] = 4; }), "lacks 'bert.encoder.layer.3."));
  CHECK(has(config_refusal([](json& c) { c["max_position_embeddings"] = 2; }), "too few"));
  CHECK(has(config_refusal([](json& c) { c["relative_attention_num_buckets"] = 64; }, "mpnet"),
            "is 64: only 32 is supported"));
  CHECK(has(config_refusal([](json& c) { c["max_position_embeddings"] = 8194; }, "mpnet"), "at most 4098"));
  CHECK(has(config_refusal(
                [](json& c) {
                  c["num_attention_heads"] = 32;
                  c["hidden_size"] = 64;
                  c["max_position_embeddings"] = 4098;
                },
                "mpnet"),
            "config.json: 'num_attention_heads' is 32: attention by distances has 32 x 4096 x 4096"));
  CHECK(
      has(config_refusal([](json& c) { c["activation"] = "silu"; }, "distilbert"), "'activation' is 'silu'"));
  CHECK(has(config_refusal([](json& c) { c["n_layers"] = 4; }, "distilbert"),
            "lacks 'distilbert.transformer.layer.3."));
  CHECK_THROWS_WITH_AS(loaded("xlmr", 127), doctest::Contains("takes 1 to 126"), model_error);
  model_source lengthless;
  lengthless.path = (encoders / "xlmr").string();
  CHECK(choose_engine(lengthless) == model_engine::native);
  CHECK_THROWS_WITH_AS(on_cpu({})(lengthless), doctest::Contains("input_ids = [128]"), model_error);
  lengthless.engine = model_engine::openvino;
  CHECK_THROWS_WITH_AS(choose_engine(lengthless), doctest::Contains("reads ONNX files"), model_error);
}

TEST_CASE("encoder: folders of other models are none") {
  CHECK(is_encoder_folder(encoders / "xlmr"));
  CHECK_FALSE(is_encoder_folder(std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks" / "base"));
  CHECK_FALSE(is_encoder_folder(encoders));
  CHECK_FALSE(is_encoder_folder(encoders / "xlmr" / "config.json"));
}

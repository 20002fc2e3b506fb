#include "gpu/encoder/onnx_encoder.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "gpu/common/model_error.hpp"
#include "gpu/device/engine_choice.hpp"
#include "gpu/device/model_library.hpp"
#include "gpu/encoder/encoder_inputs.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/small_encoder.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

/// A folder with the small encoder and the files that decide how it runs.
struct small_encoder_folder {
  explicit small_encoder_folder(const troupe::onnx::small_encoder& e = {}) {
    e.write(folder / "onnx/model.onnx");
    folder.write("tokenizer.json", "{}");
  }
  model_source source(int64_t tokens, model_engine engine = model_engine::automatic) const {
    model_source s;
    s.path = folder.path.string();
    s.max_batch = 4;
    s.engine = engine;
    // as cluster files say it: the file may lack the last one
    s.shapes = {{"input_ids", {tokens}}, {"attention_mask", {tokens}}, {"token_type_ids", {tokens}}};
    return s;
  }
  temporary_folder folder;
};

/// The answers to two texts, of the tokens 1 2 and of the token 3.
std::vector<float> small_answers(batch_model& m) {
  const std::vector<llm::encoded_text> texts{{{1, 2}, {0, 0}}, {{3}, {0}}};
  const auto in = encoder_inputs(texts, 0, m.signature());
  std::vector<float> out(4);
  const batch_part part{2, in, std::as_writable_bytes(std::span{out})};
  CHECK(m.run(2, {&part, 1}, nullptr));
  return out;
}

const float unit_half = 0.5F / std::sqrt(1.25F);

void check_embeddings(const std::vector<float>& got) {
  const std::vector<float> expected{unit_half, 2 * unit_half, 0.6F, 0.8F};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("onnx encoder: a folder runs at each length, with the mean of length one") {
  const small_encoder_folder f;
  for (const int64_t tokens : {2, 16}) {
    CHECK(choose_engine(f.source(tokens)) == model_engine::native);
    check_embeddings(small_answers(*on_chosen_engine()(f.source(tokens))));
  }
  CHECK(onnx_encoder_width(read_encoder_config(f.folder.path)) == 2);
}

TEST_CASE("onnx encoder: 1_Pooling decides, and modules.json whether embeddings have length one") {
  const small_encoder_folder f;
  std::filesystem::create_directory(f.folder / "1_Pooling");
  f.folder.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true})");
  f.folder.write("modules.json", R"([{"type": "sentence_transformers.models.Transformer"},
                                     {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}])");
  CHECK(small_answers(*on_chosen_engine()(f.source(8))) == std::vector<float>{1, 0, 3, 4});
}

TEST_CASE("onnx encoder: lengths share their weights, until the file changes") {
  const small_encoder_folder f;
  model_library library;
  const auto at = std::filesystem::last_write_time(f.folder / "onnx/model.onnx");
  const auto two = library.model(f.source(2)), three = library.model(f.source(3));
  REQUIRE(two->layers().size() == 1);
  CHECK(two->parameters(0) == three->parameters(0));
  CHECK(library.model(f.source(2)) == two);
  std::filesystem::last_write_time(f.folder / "onnx/model.onnx", at + std::chrono::hours(1));
  CHECK(library.model(f.source(2)) != two);
}

TEST_CASE("onnx encoder: problems of the file are said once") {
  const small_encoder_folder masks({.inputs = {"input_ids", "mask"}});
  const auto file = (masks.folder / "onnx/model.onnx").string();
  CHECK_THROWS_WITH_AS(choose_engine(masks.source(8)),
                       doctest::Contains((file + ": has the input 'mask'").c_str()), unreadable_model);
  const small_encoder_folder f;
  CHECK_THROWS_WITH_AS(choose_engine(f.source(513)),
                       doctest::Contains("texts of 513 tokens: the model takes 1 to 512"), model_error);
}

#ifdef TROUPE_OPENVINO
TEST_CASE("openvino: an encoder's ONNX file gives the same, with inputs of 32 bits, too") {
  for (const int type : {::onnx::TensorProto::INT64, ::onnx::TensorProto::INT32}) {
    const small_encoder_folder f({.type = type});
    const auto source = f.source(8, model_engine::openvino);
    CHECK(choose_engine(source) == model_engine::openvino);
    const auto model = on_chosen_engine()(source);
    CHECK(model->signature().outputs[0] == tensor_spec{"sentence_embedding", data_type::fp32, {2}});
    check_embeddings(small_answers(*model));
  }
}
#endif

#include "gpu/onnx/encoder_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <memory>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/loader.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/graphs.hpp"
#include "tests/gpu/onnx/small_encoder.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

/// A file of `e`, opened with this head.
struct written_encoder {
  written_encoder(const small_encoder& e, encoder_head head = encoder_head::mean, bool normalise = false)
      : file{folder.path / "model.onnx", head, normalise} {
    e.write(file.path);
  }
  std::string error(uint32_t tokens = 3) const {
    try {
      load_encoder(file, tokens);
      return "none";
    } catch (const unreadable_model& why) {
      return std::string(why.what()).substr(file.path.string().size() + 2);
    }
  }

  temporary_folder folder;
  encoder_file file;
};

/// The answers to two texts of three tokens: 1 2 and padding, and 3 alone with paddings of another token.
std::vector<float> answers(const graph& g, data_type type = data_type::int64) {
  const auto m = std::make_shared<const model>(g);
  executor e(m, load_weights(*m));
  activation in;
  for (const auto& i : m->signature().inputs) {
    const std::vector<int64_t> values = i.name == "input_ids"        ? std::vector<int64_t>{1, 2, 3, 3, 1, 1}
                                        : i.name == "attention_mask" ? std::vector<int64_t>{1, 1, 0, 1, 0, 0}
                                                                     : std::vector<int64_t>{0, 1, 0, 0, 0, 0};
    if (type == data_type::int64) {
      in.push_back(ints({2, 3}, values));
    } else {
      const std::vector<int32_t> narrow(values.begin(), values.end());
      in.push_back(make_tensor(type, {2, 3}, std::as_bytes(std::span{narrow})));
    }
  }
  return values(e.run({0, m->layers().size()}, in).at(0));
}

bool are(const std::vector<float>& got, const std::vector<float>& expected) {
  return difference(got, expected) < 1e-6;
}

}  // namespace

TEST_CASE("encoder file: vectors of tokens are pooled over the mask") {
  const written_encoder mean({});
  CHECK(are(answers(load_encoder(mean.file, 3)), {0.5, 1, 3, 4}));
  const auto content = encoder_content(mean.file, 3);
  CHECK(are(answers(parse_graph(std::as_bytes(std::span{content}), "content")), {0.5, 1, 3, 4}));
  CHECK(are(answers(load_encoder(written_encoder({}, encoder_head::cls).file, 3)), {1, 0, 3, 4}));
  const written_encoder unit({}, encoder_head::mean, true);
  const auto length = std::sqrt(1.25F);
  CHECK(are(answers(load_encoder(unit.file, 3)), {0.5F / length, 1 / length, 0.6F, 0.8F}));
}

TEST_CASE("encoder file: the signature has the length, and one output") {
  const written_encoder e({.inputs = {"input_ids", "attention_mask", "token_type_ids"}});
  const model m(load_encoder(e.file, 3));
  REQUIRE(m.signature().inputs.size() == 3);
  for (const auto& i : m.signature().inputs) CHECK(i.shape == std::vector<int64_t>{3});
  REQUIRE(m.signature().outputs.size() == 1);
  CHECK(m.signature().outputs[0] == tensor_spec{"sentence_embedding", data_type::fp32, {2}});
  CHECK(are(answers(load_encoder(e.file, 3)), {5.5, 6, 3, 4}));
}

TEST_CASE("encoder file: inputs may have 32 bits") {
  const written_encoder e({.type = ::onnx::TensorProto::INT32});
  CHECK(are(answers(load_encoder(e.file, 3), data_type::int32), {0.5, 1, 3, 4}));
}

TEST_CASE("encoder file: an output of texts is taken as it is") {
  small_encoder e{.output = "sentence_embedding", .per_token = false};
  const std::vector<float> means{4.0F / 3, 2, 5.0F / 3, 4.0F / 3};
  CHECK(are(answers(load_encoder(written_encoder(e, encoder_head::cls).file, 3)), means));
  const model unit(load_encoder(written_encoder(e, encoder_head::mean, true).file, 3));
  CHECK(unit.signature().outputs[0] == tensor_spec{"normalised_embedding", data_type::fp32, {2}});
  e.output = "any";
  CHECK(are(answers(load_encoder(written_encoder(e).file, 3)), means));
  e.output = "logits";
  const written_encoder scores(e, encoder_head::scores, true);
  CHECK(are(answers(load_encoder(scores.file, 3)), means));
  CHECK(model(load_encoder(scores.file, 3)).signature().outputs[0].name == "logits");
}

TEST_CASE("encoder file: the width is known if the file declares it") {
  CHECK(declared_width(written_encoder({}).file) == 2);
  CHECK(declared_width(written_encoder({.declared = false}).file) == 0);
  CHECK(are(answers(load_encoder(written_encoder({.declared = false}).file, 3)), {0.5, 1, 3, 4}));
}

TEST_CASE("encoder file: other inputs are refused") {
  CHECK(written_encoder({.inputs = {"input_ids"}}).error().starts_with("has no input 'attention_mask'"));
  const auto positions = written_encoder({.inputs = {"input_ids", "attention_mask", "position_ids"}}).error();
  CHECK(positions.starts_with("has the input 'position_ids', which no text gives"));
  CHECK(positions.ends_with("give the path of the file itself"));
  CHECK(written_encoder({.type = ::onnx::TensorProto::FLOAT})
            .error()
            .starts_with("input 'input_ids' has the element type 1: export it as INT64 or INT32"));
  CHECK(written_encoder({.dims = {-1}}).error() ==
        "input 'input_ids' has the shape [?]: export it as [texts, tokens]");
  CHECK(written_encoder({.dims = {1, -1}}).error() ==
        "input 'input_ids' has the shape [1, ?]: export it with a dynamic number of texts");
  CHECK(written_encoder({.dims = {-1, 3}}).error() == "none");
  CHECK(written_encoder({.dims = {-1, 4}})
            .error()
            .starts_with("input 'input_ids' is for texts of exactly 4 tokens, not 3: set lengths = [4]"));
}

TEST_CASE("encoder file: other outputs are refused") {
  CHECK(written_encoder({.output = "logits"}).error().starts_with("has no output for embeddings"));
  CHECK(written_encoder({.output = "logits"}, encoder_head::scores)
            .error()
            .starts_with("has no output 'logits' [texts, labels]"));
  CHECK(written_encoder({.output = "logits", .per_token = false})
            .error()
            .starts_with("has scores ('logits'), and no config.json says so"));
  CHECK(written_encoder({}, encoder_head::scores)
            .error()
            .ends_with("its outputs: 'last_hidden_state' with the shape [?, ?, 2]"));
}

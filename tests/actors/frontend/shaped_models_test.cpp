#include "actors/frontend/shaped_models.hpp"

#include <doctest/doctest.h>

#include <string>

#include "actors/frontend/image_inputs.hpp"
#include "messages/tensor/shaped_tensors.hpp"

using namespace troupe;

namespace {

model_signature of_length(int64_t length) {
  return {.inputs = {{"ids", data_type::int64, {length}}},
          .outputs = {{"states", data_type::fp32, {length}}}};
}

slot_ready slot_with(uint32_t slot, std::vector<std::pair<uint32_t, int64_t>> models) {
  slot_ready s{slot_id{slot}, {}, {}};
  for (const auto& [id, length] : models) {
    auto& m = s.models.emplace_back();
    m.model = model_id{id};
    m.signature = of_length(length);
    m.max_batch = 8;
  }
  return s;
}

/// "plain" (model 0), and "words" with the lengths 2 and 4 (models 1 and 2).
struct words_cluster {
  explicit words_cluster(bool padded = false) {
    cluster.models.resize(3);
    cluster.models[0].name = "plain";
    cluster.models[1].name = "words@2";
    cluster.models[2].name = "words@4";
    cluster.shaped_models = {{"words", {model_id{1}, model_id{2}}, {}, {}}};
    if (padded) cluster.shaped_models[0].padding = padding_spec{1, {2, 4}, {{"ids", 5}}};
  }
  cluster_spec cluster;
  catalog models{{{model_id{0}, "plain", 10ms, 8, {}, 0},
                  {model_id{1}, "words@2", 10ms, 8, {}, 0},
                  {model_id{2}, "words@4", 10ms, 8, {}, 0}}};
};

std::string ask_for(int64_t length) {
  std::string data;
  for (int64_t i = 0; i < length; ++i) data += (i == 0 ? "" : ",") + std::to_string(i + 1);
  return R"({"inputs":[{"name":"ids","datatype":"INT64","shape":[1,)" + std::to_string(length) +
         R"(],"data":[)" + data + "]}]}";
}

}  // namespace

TEST_CASE("shaped_models: a model with several shapes is loaded once all of them are") {
  words_cluster f;
  const shaped_models shaped{f.cluster, f.models};
  CHECK(shaped.find("plain") == nullptr);
  REQUIRE(shaped.find("words"));
  CHECK(shaped.find("words")->signature.inputs.empty());
  f.models.add(slot_with(0, {{1, 2}}));
  CHECK(shaped.find("words")->signature.inputs.empty());
  CHECK(shaped.find("words")->slots == 0);
  f.models.add(slot_with(1, {{1, 2}, {2, 4}}));
  const auto whole = shaped.find("words");
  CHECK(whole->name == "words");
  CHECK(whole->slots == 1);
  CHECK(whole->signature.inputs[0].shape == std::vector<int64_t>{-1});
  CHECK(whole->signature.outputs[0].shape == std::vector<int64_t>{-1});
  CHECK(shaped.all().size() == 1);
  CHECK(shaped.parts_of(whole).size() == 2);
  CHECK(shaped.parts_of(f.models.find("plain")).size() == 1);
  f.models.close(model_id{2}, {});
  CHECK(shaped.find("words") == nullptr);
}

TEST_CASE("shaped_models: a request goes to the model of its shape, and its answer has the client's name") {
  words_cluster f;
  f.models.add(slot_with(0, {{0, 3}, {1, 2}, {2, 4}}));
  const shaped_models shaped{f.cluster, f.models};
  const auto whole = shaped.find("words");
  const auto chosen = shaped.choose(whole, {ask_for(4), {}});
  REQUIRE(chosen);
  CHECK(chosen->runs->model == model_id{2});
  CHECK(chosen->asked->name == "words");
  CHECK(chosen->asked->model == model_id{2});
  CHECK(chosen->padding == nullptr);
  CHECK(shaped.choose(whole, {ask_for(3), {}}).error().message ==
        R"(input "ids": shape [1,3] given; the model has the shapes [-1,2], [-1,4])");
  const auto plain = f.models.find("plain");
  CHECK(shaped.choose(plain, {"", {}})->runs == plain);
}

TEST_CASE("shaped_models: a deployed model of the same name is none of the shapes") {
  words_cluster f;
  f.models.add(slot_with(0, {{1, 2}, {2, 4}}));
  f.models.open({model_id{9}, "words", 10ms, 8, of_length(3), 1});
  const shaped_models shaped{f.cluster, f.models};
  const auto deployed = f.models.find("words");
  CHECK(shaped.parts_of(deployed) == std::vector{deployed});
  CHECK(shaped.choose(deployed, {ask_for(3), {}})->runs == deployed);
}

TEST_CASE("shaped_models: a request is padded, and takes the memory of the padded shape") {
  words_cluster f(true);
  f.models.add(slot_with(0, {{1, 2}, {2, 4}}));
  const shaped_models shaped{f.cluster, f.models};
  const auto text = ask_for(3);
  const auto chosen = shaped.choose(shaped.find("words"), {text, {}});
  REQUIRE(chosen);
  REQUIRE(chosen->padding != nullptr);
  CHECK(chosen->runs->name == "words@4");
  CHECK(chosen->asked->signature.outputs[0].shape == std::vector<int64_t>{3});
  const auto request = parse_infer({text, {}}, chosen->asked->signature, 8);
  REQUIRE(request);
  REQUIRE(input_bytes_of(*request, *chosen) == 32);
  std::vector<std::byte> into(32);
  REQUIRE_FALSE(write_inputs(*request, *chosen, into, image_inputs(*chosen->asked)));
  CHECK(static_cast<int>(into[16]) == 3);
  CHECK(static_cast<int>(into[24]) == 5);
}

TEST_CASE("shaped_models: a request in no shape of the model goes to the one that takes any") {
  words_cluster f;
  f.cluster.models.emplace_back().name = "words@any";
  f.cluster.shaped_models[0].any_shape = model_id{3};
  catalog models{{{model_id{1}, "words@2", 10ms, 8, {}, 0},
                  {model_id{2}, "words@4", 10ms, 8, {}, 0},
                  {model_id{3}, "words@any", 10ms, 1, {}, 0}}};
  auto slot = slot_with(0, {{1, 2}, {2, 4}, {3, -1}});
  auto& any = slot.models[2];
  any.max_batch = 1;
  any.signature = {.inputs = {{"ids", data_type::int64, {-1, -1}}},
                   .outputs = {{"states", data_type::fp32, {-1, -1}}},
                   .batched = false};
  models.add(slot);
  const shaped_models shaped{f.cluster, models};
  const auto whole = shaped.find("words");
  REQUIRE(whole);
  CHECK(whole->max_batch == 8);
  CHECK(whole->signature.batched);
  CHECK(whole->signature.inputs[0].shape == std::vector<int64_t>{-1});
  CHECK(shaped.choose(whole, {ask_for(4), {}})->runs->model == model_id{2});
  const auto text = ask_for(3);
  const auto chosen = shaped.choose(whole, {text, {}});
  REQUIRE(chosen);
  CHECK(chosen->runs->model == model_id{3});
  CHECK(chosen->with_shapes);
  CHECK(chosen->asked->name == "words");
  const auto request = parse_infer({text, {}}, chosen->asked->signature, chosen->asked->max_batch);
  REQUIRE(request);
  REQUIRE(input_bytes_of(*request, *chosen) == 3 * 8 + 3 * 8);
  std::vector<std::byte> into(48);
  REQUIRE_FALSE(write_inputs(*request, *chosen, into, image_inputs(*chosen->asked)));
  const auto read = read_shapes(any.signature.inputs, into);
  REQUIRE(read);
  CHECK(read->tensors[0].shape == std::vector<int64_t>{1, 3});
  CHECK(static_cast<int>(read->values[16]) == 3);
  CHECK(
      shaped
          .choose(whole, {R"({"inputs":[{"name":"ids","datatype":"INT64","shape":[3],"data":[1,2,3]}]})", {}})
          .error()
          .message == R"(input "ids": shape [3] given, [-1,-1] expected, where -1 is any number)");
}

TEST_CASE("shaped_models: a model with free dimensions alone takes any shape") {
  words_cluster f;
  auto slot = slot_with(0, {{0, -1}});
  slot.models[0].signature.batched = false;
  slot.models[0].signature.inputs[0].shape = {-1, -1};
  f.models.add(slot);
  const shaped_models shaped{f.cluster, f.models};
  const auto plain = f.models.find("plain");
  const auto chosen = shaped.choose(plain, {ask_for(5), {}});
  REQUIRE(chosen);
  CHECK(chosen->with_shapes);
  CHECK(chosen->runs == plain);
  CHECK(chosen->asked->signature.inputs[0].shape == std::vector<int64_t>{1, 5});
  CHECK(shaped.choose(plain, {"", "raw"}).error().message.find("send JSON") != std::string::npos);
}

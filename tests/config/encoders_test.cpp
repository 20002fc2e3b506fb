#include <filesystem>

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

/// A cluster with devices that compute, and no model.
std::string on_cpus() {
  std::string text{good_cluster};
  text.erase(text.find("[[model]]"));
  return changed(text, "kind = \"emulated\"\ncount = 2\n", "kind = \"cpu\"\ncount = 2\n");
}

/// Relative to the folder of the file that `read` simulates.
cluster_reading with_encoder(std::string_view keys, std::string_view folder = "xlmr") {
  return read(on_cpus() + "[[encoder]]\nname = \"words\"\nmodel = \"../encoders/" + std::string(folder) +
              "\"\n" + std::string(keys));
}

std::string problems_of(const cluster_reading& r) {
  std::string out;
  for (const auto& p : r.problems) out += (out.empty() ? "" : "\n") + p.text;
  return out;
}

}  // namespace

TEST_CASE("an encoder needs a name and a folder, and each of its lengths is a model") {
  const auto cluster = with_encoder("");
  REQUIRE(listed(cluster.problems) == "");
  REQUIRE(cluster.spec.encoders.size() == 1);
  const auto& e = cluster.spec.encoders[0];
  CHECK(e.name == "words");
  CHECK(std::filesystem::path(e.path) == std::filesystem::path(TROUPE_FIXTURES "/encoders/xlmr"));
  REQUIRE(e.lengths.size() == 3);
  CHECK(e.lengths[2].tokens == 126);
  REQUIRE(cluster.spec.models.size() == 3);
  const auto& m = cluster.spec.models[e.lengths[1].model.value];
  CHECK(m.name == "words@64");
  CHECK(m.path == e.path);
  CHECK(m.slo == 1s);
  CHECK(m.max_batch == 32);
  REQUIRE(find_input(m.shapes, "input_ids") != nullptr);
  CHECK(find_input(m.shapes, "input_ids")->dims == std::vector<int64_t>{64});
}

TEST_CASE("the lengths of an encoder are sorted, and at most what the model takes") {
  const auto cluster = with_encoder("lengths = [100, 16]\nslo_ms = 50\nmax_batch = 4\n");
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.models[0].name == "words@16");
  CHECK(cluster.spec.models[1].max_batch == 4);
  CHECK(cluster.spec.models[1].slo == 50ms);
  CHECK(problems_of(with_encoder("lengths = [127]")).starts_with("encoder.lengths"));
  CHECK(problems_of(with_encoder("lengths = []")).starts_with("encoder.lengths: has no number of tokens"));
  CHECK(with_encoder("lengths = [16, 32]").spec.hash != with_encoder("lengths = [16, 64]").spec.hash);
  CHECK(problems_of(with_encoder("lengths = [16, 16]")) == "encoder.lengths: has a number twice");
  CHECK(problems_of(with_encoder("lengths = [16.5]")) ==
        "encoder.lengths: has a number of tokens that is not whole");
}

TEST_CASE("an encoder's ONNX file belongs to the cluster's hash, and either engine may run it") {
  const temporary_folder folder;
  folder.write("tokenizer.json", "{}");
  folder.write("model.onnx", "a");
  const auto text = on_cpus() + "[[encoder]]\nname = \"words\"\nmodel = \"" + folder.path.string() + "\"\n";
  const auto first = read(text);
  REQUIRE(listed(first.problems) == "");
  CHECK(first.spec.models[0].engine == model_engine::automatic);
  CHECK(first.spec.encoders[0].lengths.back().tokens == 512);
  folder.write("model.onnx", "b");
  CHECK(read(text).spec.hash != first.spec.hash);
  CHECK(with_encoder("").spec.models[0].engine == model_engine::native);
  std::filesystem::remove(folder / "tokenizer.json");
  CHECK(problems_of(read(text)).find("has model.onnx and no tokenizer.json") != std::string::npos);
}

TEST_CASE("the external data of an encoder's ONNX file belongs to the cluster's hash") {
  const temporary_folder folder;
  folder.write("tokenizer.json", "{}");
  // ModelProto.graph.initializer.external_data: location = "w.bin"
  const std::string entry = "\x0a\x08location\x12\x05w.bin", tensor = "\x6a\x11" + entry;
  folder.write("model.onnx", "\x3a\x15\x2a\x13" + tensor);
  const auto text = on_cpus() + "[[encoder]]\nname = \"words\"\nmodel = \"" + folder.path.string() + "\"\n";
  const auto hash = [&] { return read(text).spec.hash; };
  const auto without = hash();
  folder.write("w.bin", "weights");
  const auto first = hash();
  CHECK(first != without);
  CHECK(hash() == first);
  folder.write("w.bin", "weighty");
  CHECK(hash() != first);
}

TEST_CASE("what is no encoder, and devices that run none, are refused") {
  CHECK(problems_of(with_encoder("", "nowhere")).find("config.json") != std::string::npos);
  CHECK(problems_of(with_encoder("", "../llama-tasks/base")).find("'model_type'") != std::string::npos);
  CHECK(problems_of(with_encoder("size = 3")).find("unknown key 'size'") != std::string::npos);
  std::string emulated{good_cluster};
  emulated += "[[encoder]]\nname = \"words\"\nmodel = \"../encoders/xlmr\"\n";
  CHECK(problems_of(read(emulated)).find("encoders run on CPUs") != std::string::npos);
}

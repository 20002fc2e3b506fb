#include "gpu/checkpoint/tensor_files.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;
using nlohmann::json;

namespace {

constexpr const char* index_file = "model.safetensors.index.json";
constexpr const char* first = "model-00001-of-00002.safetensors";
constexpr const char* second = "model-00002-of-00002.safetensors";

/// The small model in two shards.
struct sharded_model : temporary_folder {
  json index = {{"metadata", {{"total_size", 1}}}};
  std::vector<tensor> shards[2];

  sharded_model() {
    write("config.json", small_config().dump());
    for (auto& t : small_weights()) {
      const size_t shard = t.name.starts_with("model.layers.1.") || t.name == "lm_head.weight";
      index["weight_map"][t.name] = shard == 0 ? first : second;
      shards[shard].push_back(std::move(t));
    }
    save();
  }
  void save() const {
    write(index_file, index.dump());
    write(first, file_of(shards[0]));
    write(second, file_of(shards[1]));
  }
  /// The message of opening it, without the folder.
  std::string refused() const {
    auto error = error_of([&] { checkpoint{path}; });
    const auto prefix = path.string() + "/";
    return error.starts_with(prefix) ? error.substr(prefix.size()) : error;
  }
};

}  // namespace

TEST_CASE("a sharded checkpoint has the layers of a whole one") {
  const sharded_model sharded;
  const temporary_folder whole;
  whole.write("config.json", small_config().dump());
  whole.write("model.safetensors", file_of(small_weights()));
  const checkpoint a(sharded.path), b(whole.path);
  REQUIRE(a.layers() == b.layers());
  for (uint32_t i = 0; i < a.layers(); ++i)
    CHECK(std::ranges::equal(a.read(i).blob->span(), b.read(i).blob->span()));
}

TEST_CASE("a shard may be a symbolic link to a file in a cache") {
  const sharded_model m;
  const temporary_folder cache;
  std::filesystem::rename(m.path / second, cache.path / "blob");
  std::filesystem::create_symlink(cache.path / "blob", m.path / second);
  CHECK(m.refused() == "no error");
}

TEST_CASE("model.safetensors goes before an index of shards") {
  const sharded_model m;
  m.write("model.safetensors", file_of(small_weights()));
  m.write(index_file, "damaged");
  CHECK(m.refused() == "no error");
}

TEST_CASE("a folder without weights is refused with the fix") {
  const temporary_folder folder;
  folder.write("config.json", small_config().dump());
  folder.write("pytorch_model.bin", "");
  CHECK(error_of([&] { checkpoint{folder.path}; }) ==
        folder.path.string() +
            ": has neither model.safetensors nor model.safetensors.index.json: save the checkpoint as "
            "safetensors");
}

TEST_CASE("a shard that is missing, damaged or without its tensor is refused") {
  sharded_model m;
  std::filesystem::remove(m.path / second);
  CHECK(m.refused() == std::string(second) + ": No such file or directory");
  m.write(second, "short");
  CHECK(m.refused() ==
        std::string(second) + ": has 5 bytes and is not a safetensors file (damaged or truncated)");
  m.index["weight_map"]["model.norm.weight"] = second;
  m.save();
  CHECK(m.refused() == std::string(second) +
                           ": lacks 'model.norm.weight' [8], which model.safetensors.index.json lists in it");
  m.index["weight_map"].erase("model.norm.weight");
  m.save();
  CHECK(m.refused() == std::string(index_file) + ": lacks 'model.norm.weight' [8], which config.json needs");
}

TEST_CASE("a shard outside the folder is refused, whether or not it exists") {
  sharded_model m;
  for (const std::string file : {"../x.safetensors", "/etc/passwd", "sub/x", "..", ".", "", "a/../../x"}) {
    m.index["weight_map"]["model.norm.weight"] = file;
    m.save();
    CHECK(m.refused() == std::string(index_file) + ": names the file '" + file +
                             "' for 'model.norm.weight': shards lie in the same folder");
  }
  m.index["weight_map"]["model.norm.weight"] = std::string("x\0y", 3);
  m.save();
  CHECK(m.refused() == std::string(index_file) +
                           ": names the file 'x?y' for 'model.norm.weight': shards lie in the "
                           "same folder");
}

TEST_CASE("an index that is damaged is refused") {
  const sharded_model m;
  const std::string damaged =
      std::string(index_file) + ": is not an index of shards: it is damaged or lacks its 'weight_map'";
  for (const std::string text : {"", "{", "[]", "{}", "{\"weight_map\": 5}", "{\"weight_map\": []}"}) {
    m.write(index_file, text);
    CHECK(m.refused() == damaged);
  }
  m.write(index_file, "{\"weight_map\": " + std::string(1'000'000, '['));
  CHECK(m.refused() == damaged);
  m.write(index_file, R"({"weight_map": {"a": 5}})");
  CHECK(m.refused() == std::string(index_file) + ": names no file for 'a'");
}

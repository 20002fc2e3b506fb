#include "gpu/llm/adapter_store.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;
namespace fs = std::filesystem;

namespace {

/// Copies of the fixtures' adapters, for modification.
struct adapters {
  std::string add(const std::string& name, const std::string& as) const {
    const auto to = folder.path / as;
    fs::remove_all(to);
    fs::copy(fixtures / "llama-tasks/adapters" / name, to);
    return to.string();
  }
  temporary_folder folder;
  model_config model = read_model_config(fixtures / "llama-tasks/base");
};

constexpr uint64_t plenty = 1 << 30;

}  // namespace

TEST_CASE("an adapter with unchanged files is read once") {
  const adapters files;
  const auto sort = files.add("sort", "sort");
  adapter_store store(files.model, plenty);
  const auto first = store.get(sort);
  CHECK(first.from_disk);
  CHECK(first.what->parts.size() == 42);
  CHECK(store.bytes() == first.what->bytes());
  CHECK(first.what->bytes() > fs::file_size(fs::path(sort) / "adapter_model.safetensors") * 9 / 10);
  const auto again = store.get(sort);
  CHECK_FALSE(again.from_disk);
  CHECK(again.what == first.what);
  CHECK(store.hits() == 1);
  CHECK(store.reads() == 1);
  CHECK(store.count() == 1);
}

TEST_CASE("the least recently used adapters are evicted beyond the budget, and stay valid for their users") {
  const adapters files;
  const auto a = files.add("sort", "a"), b = files.add("sort", "b"), c = files.add("sort", "c");
  const auto one = read_adapter(a, files.model).bytes();
  adapter_store store(files.model, 2 * one + one / 2);
  store.get(a);
  const auto used = store.get(b).what;
  store.get(a);
  CHECK(store.get(c).from_disk);
  CHECK(store.count() == 2);
  CHECK(store.bytes() == 2 * one);
  CHECK(used->parts.size() == 42);
  CHECK_FALSE(store.get(a).from_disk);
  CHECK_FALSE(store.get(c).from_disk);
  CHECK(store.get(b).from_disk);
  CHECK(store.get(a).from_disk);
}

TEST_CASE("an adapter larger than the budget is used but not cached, and evicts no other") {
  const adapters files;
  const auto small = files.add("reverse", "small"), large = files.add("sort", "large");
  const auto budget = read_adapter(small, files.model).bytes();
  REQUIRE(read_adapter(large, files.model).bytes() > budget);
  adapter_store store(files.model, budget);
  store.get(small);
  CHECK(store.get(large).what->parts.size() == 42);
  CHECK(store.get(large).from_disk);
  CHECK_FALSE(store.get(small).from_disk);
  CHECK(store.bytes() == budget);
  adapter_store nothing(files.model, 0);
  CHECK(nothing.get(small).from_disk);
  CHECK(nothing.get(small).from_disk);
  CHECK(nothing.bytes() == 0);
}

TEST_CASE("changed files are read again") {
  const adapters files;
  const auto folder = files.add("sort", "a");
  const auto weights = fs::path(folder) / "adapter_model.safetensors",
             config = fs::path(folder) / "adapter_config.json";
  adapter_store store(files.model, plenty);
  store.get(folder);

  SUBCASE("files of another size") {
    files.add("reverse", "a");
    const auto found = store.get(folder);
    CHECK(found.from_disk);
    CHECK(found.what->max_rank == 8);
  }
  SUBCASE("a configuration with a later time") {
    fs::last_write_time(config, fs::last_write_time(config) + std::chrono::milliseconds(1));
    CHECK(store.get(folder).from_disk);
  }
  SUBCASE("weights replaced by a file of the same size and time") {
    const auto other = fs::path(files.add("sort", "b")) / "adapter_model.safetensors";
    fs::last_write_time(other, fs::last_write_time(weights));
    fs::rename(other, weights);
    CHECK(store.get(folder).from_disk);
  }
  CHECK_FALSE(store.get(folder).from_disk);
  CHECK(store.count() == 1);
  CHECK(store.bytes() == store.get(folder).what->bytes());
}

TEST_CASE("an adapter with missing or damaged files is refused and dropped") {
  const adapters files;
  const auto folder = files.add("sort", "a");
  const auto weights = fs::path(folder) / "adapter_model.safetensors";
  adapter_store store(files.model, plenty);
  store.get(folder);
  SUBCASE("the weights are missing") {
    fs::remove(weights);
    CHECK(error_of([&] { store.get(folder); }) == weights.string() + ": No such file or directory");
  }
  SUBCASE("the weights are damaged") {
    fs::remove(weights);
    files.folder.write("a/adapter_model.safetensors", "PK");
    CHECK(error_of([&] { store.get(folder); }).find("damaged or truncated") != std::string::npos);
  }
  CHECK(store.bytes() == 0);
  CHECK(store.count() == 0);
  files.add("sort", "a");
  CHECK(store.get(folder).from_disk);
  CHECK(store.reads() == 2);
}

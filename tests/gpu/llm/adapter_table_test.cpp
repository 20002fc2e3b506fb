#include "gpu/llm/adapter_table.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace troupe;
using namespace troupe::llm;

TEST_CASE("adapters are found by their ids, in any order of arrival") {
  const auto folder = std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks";
  const auto model = read_model_config(folder / "base");
  const auto file = read_adapter(folder / "adapters" / "sort", model);
  const auto make = [&] { return std::make_shared<const adapter_weights>(file, model.layers, element::f32); };
  adapter_table table;
  std::vector<std::shared_ptr<const adapter_weights>> all(20);
  for (uint32_t i = 0; i < 20; ++i) table.load(adapter_id{i * 7 % 20 + 1}, all[i * 7 % 20] = make());
  for (uint32_t i = 0; i < 20; i += 3) table.unload(adapter_id{i + 1}), all[i] = nullptr;
  table.unload(adapter_id{1});  // a second time
  table.load(adapter_id{3}, all[2] = make());

  uint64_t bytes = 0;
  for (uint32_t i = 0; i < 20; ++i) {
    if (all[i] == nullptr) continue;
    const auto& found = table.at(adapter_id{i + 1});
    CHECK(found.owner == all[i]);
    CHECK(found.parts == all[i]->parts());
    CHECK(found.max_rank == file.max_rank);
    bytes += all[i]->bytes();
  }
  CHECK(table.bytes() == bytes);
}

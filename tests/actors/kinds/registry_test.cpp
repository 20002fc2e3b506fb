#include "actors/kinds/registry.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

using namespace troupe;

TEST_CASE("registry: every role is listed once, with a description") {
  std::set<role> seen;
  for (const auto* k : actor_kinds()) {
    CHECK(seen.insert(k->kind).second);
    CHECK(*k->one_per != '\0');
    CHECK(*k->does != '\0');
  }
  CHECK(seen.size() == role_count);
}

TEST_CASE("registry: docs/architecture.md lists the kinds as the registry does") {
  std::ifstream file(TROUPE_FIXTURES "/../../docs/architecture.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  REQUIRE(!page.empty());
  std::istringstream rows(actor_kind_table());
  size_t missing = 0;
  for (std::string row; std::getline(rows, row);) {
    const bool there = page.find(row + "\n") != std::string::npos;
    missing += !there;
    CHECK_MESSAGE(there, "docs/architecture.md lacks this row of `troupe actors --kinds`: " << row);
  }
  CHECK(missing == 0);
}

TEST_CASE("registry: a row lists the commands of its kind") {
  const auto table = actor_kind_table();
  CHECK(table.find("| `gpu_worker` | execution slot | ") != std::string::npos);
  CHECK(table.find("| `get_state`, `list_batches`, `start_trace`, `take_trace`, `stop_trace` |") !=
        std::string::npos);
  CHECK(table.find("| those of its plug-in |") != std::string::npos);
}

// A thousand language models in the memory of 32 hosts, three of which die.
#include <map>
#include <set>

#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

constexpr uint32_t hosts = 32, many = 1000, places = 4;
constexpr uint32_t first_host = 1;

/// Each model has four places, on hosts that differ from model to model, and no instance.
cluster_spec many_models() {
  auto c = scaling_cluster();
  const auto worker = c.nodes[2];
  c.nodes.resize(1);
  for (uint32_t h = 0; h < hosts; ++h) {
    c.nodes.push_back(worker);
    c.nodes.back().name = fmt::format("host{}", h);
    c.nodes.back().parameter_bytes = 4 << 20;
    c.links[0].nodes.push_back(c.nodes.back().name);
  }
  c.scaling.chunk_bytes = 256;
  const auto model = c.llms[0];
  c.llms.clear();
  c.engines.clear();
  random_stream r(1, "places");
  for (uint32_t m = 0; m < many; ++m) {
    c.llms.push_back(model);
    c.llms.back().name = fmt::format("m{}", m);
    c.llms.back().instances = c.llms.back().min_instances = 0;
    c.llms.back().max_instances = places;
    std::set<uint32_t> on;
    while (on.size() < places) on.insert(static_cast<uint32_t>(r.below(hosts)));
    for (const auto h : on) c.engines.push_back({llm_id{m}, node_id{first_host + h}});
  }
  return c;
}

struct copies_of_hosts {
  std::map<std::string, uint32_t> complete;  ///< by model
  std::map<std::string, uint64_t> bytes;     ///< by host
  explicit copies_of_hosts(const world_result& r) {
    for (const auto& i : r.pool.copies) {
      complete[i.model] += i.ready == i.chunks && i.chunks > 0;
      bytes[i.node] += i.bytes;
    }
  }
  /// The fullest host's bytes / the mean.
  double largest_share() const {
    uint64_t sum = 0, largest = 0;
    for (const auto& [_, b] : bytes) sum += b, largest = std::max(largest, b);
    return static_cast<double>(largest * bytes.size()) / static_cast<double>(sum);
  }
};

}  // namespace

TEST_CASE("scaling: a thousand models keep their copies while hosts die") {
  const auto c = many_models();
  auto w = scaling_workload(c, 0);
  w.length = 1s;
  w.llms.resize(3);  // the first ones get instances
  for (auto& load : w.llms) load.rate_rps = 10;
  SUBCASE("without faults") {
    const auto r = run(c, w, {.seed = 1});
    check_sequences(r, 1);
    const copies_of_hosts all(r);
    CHECK(all.complete.size() == many);
    for (const auto& [model, n] : all.complete) CHECK_MESSAGE(n >= 1, model);
    CHECK(all.bytes.size() == hosts);
    fmt::print("the fullest host has {:.3f} of the mean\n", all.largest_share());
    CHECK(all.largest_share() < 1.1);
  }
  SUBCASE("three hosts die") {
    for (const uint32_t h : {3, 11, 27})
      w.faults.push_back({.kind = fault_kind::crash, .at = 300ms, .a = node_id{h}, .b = node_id{h}});
    const auto r = run(c, w, {.seed = 2});
    check_sequences(r, 2);
    const copies_of_hosts all(r);
    CHECK(all.complete.size() == many);
    for (const auto& [model, n] : all.complete) CHECK_MESSAGE(n >= 1, model);
    CHECK(all.bytes.size() == hosts - 3);
    CHECK(all.largest_share() < 1.25);
  }
}

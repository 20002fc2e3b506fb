#include "policies/workload/random_multicast.hpp"

#include <algorithm>
#include <string>

namespace troupe {

multicast_problem random_multicast(random_stream& random, network_kind kind, uint32_t sources,
                                   uint32_t targets, bool exactly) {
  const auto draw = [&](uint32_t up_to) { return 1 + static_cast<uint32_t>(random.below(up_to)); };
  multicast_problem p;
  p.bytes = 1e9 * draw(140);
  p.chunks = draw(64);
  p.sources = exactly ? sources : draw(sources);
  const auto n = p.sources + (exactly ? targets : draw(targets));
  for (uint32_t i = 0; i < n; ++i)
    p.nodes.push_back({"n" + std::to_string(i), false, false, no_scale_up_domain});
  std::vector<double> rates(n);
  std::vector<uint32_t> leaves(n);
  constexpr double among[] = {25, 50, 100, 200, 400};
  for (auto& r : rates) r = among[random.below(std::size(among))];
  for (auto& l : leaves) l = draw(3);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b) {
      double rate = 100;
      if (kind == network_kind::by_node) rate = std::min(rates[a], rates[b]);
      if (kind == network_kind::by_leaf) rate = leaves[a] == leaves[b] ? 100 : 25;
      if (kind == network_kind::arbitrary) rate = 1 + random.uniform() * 399;
      p.gbit_per_s.push_back(a == b || p.is_source(b) ? 0 : rate);
    }
  return p;
}

}  // namespace troupe

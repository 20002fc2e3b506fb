#include "policies/scaling/multicast_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace troupe {

std::vector<uint32_t> multicast_plan::unreached() const {
  std::vector<uint32_t> out;
  for (uint32_t node = 0; node < finish.size(); ++node)
    if (finish[node] == duration::max()) out.push_back(node);
  return out;
}

duration multicast_plan::latest() const {
  duration out{};
  for (const auto t : finish)
    if (t != duration::max()) out = std::max(out, t);
  return out;
}

void check(const multicast_problem& p) {
  const auto refuse_unless = [](bool good, const char* why) {
    if (!good) throw std::invalid_argument(why);
  };
  refuse_unless(p.sources > 0, "a multicast needs a source");
  refuse_unless(p.nodes.size() > p.sources, "a multicast needs a target");
  refuse_unless(p.bytes > 0 && std::isfinite(p.bytes), "a multicast needs a number of bytes");
  refuse_unless(p.chunks > 0 && p.lanes > 0, "a multicast needs a chunk and a lane at least");
  refuse_unless(p.gbit_per_s.size() == p.nodes.size() * p.nodes.size(),
                "a multicast needs the rate of each pair of nodes");
  // Sums of finishes in nanoseconds are whole numbers of 64 bits.
  double slowest = p.domain_gbit_per_s > 0 ? p.domain_gbit_per_s : std::numeric_limits<double>::infinity();
  for (const double rate : p.gbit_per_s)
    if (rate > 0) slowest = std::min(slowest, rate);
  const double nodes = p.size();
  refuse_unless(p.bytes * 8 / slowest * nodes * nodes < 0x1p61,
                "the slowest link is too slow for so many bytes and nodes; leave it out");
  const auto good = [](double rate) { return rate >= 0 && std::isfinite(rate); };
  refuse_unless(std::all_of(p.gbit_per_s.begin(), p.gbit_per_s.end(), good) && good(p.domain_gbit_per_s),
                "rates are finite and not negative");
}

}  // namespace troupe

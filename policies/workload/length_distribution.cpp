#include "policies/workload/length_distribution.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace troupe {
namespace {

uint32_t draw(const token_lengths& l, random_stream& random) {
  const auto drawn = l.median * std::exp(l.sigma * standard_normal(random));
  return static_cast<uint32_t>(std::clamp(std::round(drawn), 1.0, static_cast<double>(std::max(1u, l.max))));
}

uint32_t draw(const measured_lengths& l, random_stream& random) {
  const double share = random.uniform();
  const auto after = std::ranges::upper_bound(l.quantiles, share, {}, &length_quantile::share);
  if (after == l.quantiles.end()) return l.quantiles.back().tokens;
  const auto& before = *(after - 1);
  const double part = (share - before.share) / (after->share - before.share);
  return before.tokens + static_cast<uint32_t>(std::round(part * (after->tokens - before.tokens)));
}

}  // namespace

length_distribution::length_distribution(const length_spec& spec)
    : spec_(spec), zipf_(std::vector<double>{1}) {
  if (const auto* z = std::get_if<zipf_lengths>(&spec))
    zipf_ = weighted_choice(zipf_shares(z->max, z->exponent));
}

uint32_t length_distribution::operator()(random_stream& random) const {
  if (std::holds_alternative<zipf_lengths>(spec_)) return zipf_(random) + 1;
  if (const auto* m = std::get_if<measured_lengths>(&spec_)) return draw(*m, random);
  return draw(std::get<token_lengths>(spec_), random);
}

}  // namespace troupe

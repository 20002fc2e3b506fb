#include "policies/baselines/squishy_packing.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace troupe {
namespace {

struct node {
  double cycle = 0;  ///< seconds
  std::vector<packed_session> sessions;
};

class packer {
 public:
  packer(const std::vector<packing_session>& sessions, double scale) : sessions_(sessions), scale_(scale) {}

  std::vector<node> pack() {
    std::vector<node> full, shared;
    for (uint32_t i = 0; i < sessions_.size(); ++i) place(i, full, shared);
    std::sort(shared.begin(), shared.end(),
              [&](const node& a, const node& b) { return occupancy(a) > occupancy(b); });
    const auto whole = full.size();
    for (auto& n : shared) {
      std::optional<node> best;
      size_t at = 0;
      for (size_t k = whole; k < full.size(); ++k) {
        auto both = merged(full[k], n);
        if (!both || (best && occupancy(*both) <= occupancy(*best))) continue;
        best = std::move(both);
        at = k;
      }
      if (best)
        full[at] = std::move(*best);
      else
        full.push_back(std::move(n));
    }
    return full;
  }

 private:
  double latency(uint32_t model, double rows) const {
    const auto& l = sessions_[model].latency;
    return to_seconds(l.alpha) * rows + to_seconds(l.beta);
  }

  /// Whole slots, and a shareable one for the remaining rate.
  void place(uint32_t i, std::vector<node>& full, std::vector<node>& shared) const {
    const auto& s = sessions_[i];
    const double slo = to_seconds(s.slo), alpha = to_seconds(s.latency.alpha),
                 beta = to_seconds(s.latency.beta);
    double rate = s.rate * scale_;
    if (rate <= 0 || latency(i, 1) > slo) return;
    const double max_batch =
        std::min<double>(s.max_rows, std::max(1.0, std::floor((slo / 2 - beta) / alpha + 1e-9)));
    const double fastest = max_batch / latency(i, max_batch);
    for (; rate >= fastest; rate -= fastest)
      full.push_back({latency(i, max_batch), {{i, static_cast<uint32_t>(max_batch), fastest}}});
    if (rate <= 1e-9 * fastest) return;
    // Arrivals of a cycle run in the next: b / rate + ℓ(b) ≤ SLO.
    const double batch = std::min<double>(s.max_rows, std::floor((slo - beta) / (alpha + 1 / rate) + 1e-9));
    // Too rare for a full batch: one row, as soon as it arrives.
    const double cycle = batch < 1 ? slo - latency(i, 1) : batch / rate;
    shared.push_back({cycle, {{i, static_cast<uint32_t>(std::max(1.0, batch)), rate}}});
  }

  double occupancy(const node& n) const {
    double busy = 0;
    for (const auto& s : n.sessions) busy += latency(s.model, s.batch);
    return busy / n.cycle;
  }

  /// Both nodes merged, at the shorter of their cycles; none if that is too short.
  std::optional<node> merged(const node& a, const node& b) const {
    node out{std::min(a.cycle, b.cycle), {}};
    double busy = 0;
    for (const auto* from : {&a, &b})
      for (auto s : from->sessions) {
        s.batch = static_cast<uint32_t>(std::max(1.0, std::ceil(s.rate * out.cycle - 1e-9)));
        const double takes = latency(s.model, s.batch);
        busy += takes;
        if (busy > out.cycle || takes + out.cycle > to_seconds(sessions_[s.model].slo) + 1e-12) return {};
        out.sessions.push_back(s);
      }
    return out;
  }

  const std::vector<packing_session>& sessions_;
  const double scale_;
};

}  // namespace

squishy_plan squishy_packing(const std::vector<packing_session>& sessions, uint32_t slots) {
  double sum = 0;
  for (const auto& s : sessions) sum += s.rate;
  if (sum <= 0) return squishy_plan(slots);
  const auto fits = [&](double scale) { return packer(sessions, scale).pack().size() <= slots; };
  double low = 0, high = 1 / sum;
  while (fits(high) && high < 1e12) high = 2 * (low = high);
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  squishy_plan plan(slots);
  if (low == 0) return plan;
  auto nodes = packer(sessions, low).pack();
  for (size_t i = 0; i < nodes.size(); ++i) plan[i] = std::move(nodes[i].sessions);
  return plan;
}

}  // namespace troupe

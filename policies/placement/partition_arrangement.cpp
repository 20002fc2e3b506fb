#include "policies/placement/partition_arrangement.hpp"

#include <algorithm>

namespace troupe {

partition_arrangement::partition_arrangement(const partition_problem& p)
    : p_(&p), fair_(p), part_of_(p.models.size(), no_part), place_(p.models.size()), parts_(p.parts.size()) {
  for (uint32_t j = 0; j < parts_.size(); ++j) refresh(j);
  rank();
}

std::array<uint32_t, 3> partition_arrangement::hot() const {
  auto worst = no_part;
  for (uint32_t j = 0; j < parts_.size(); ++j)
    if (parts_[j].share.excess > (worst == no_part ? 0 : parts_[worst].share.excess)) worst = j;
  std::array out{worst, by_rate_[0], by_bytes_[0]};
  if (out[1] == out[0]) out[1] = no_part;
  if (out[2] == out[0] || out[2] == out[1]) out[2] = no_part;
  return out;
}

partition_score partition_arrangement::after_move(uint32_t model, uint32_t to) const {
  const auto from = part_of_[model];
  return score_of(from, terms_of(from, without(from, model)), to, terms_of(to, with(parts_[to].sum, model)));
}

void partition_arrangement::move(uint32_t model, uint32_t to) {
  const auto from = part_of_[model];
  leave(model);
  join(model, to);
  refresh(from);
  refresh(to);
  rank();
}

partition_score partition_arrangement::after_swap(uint32_t a, uint32_t b) const {
  const auto pa = part_of_[a], pb = part_of_[b];
  return score_of(pa, terms_of(pa, with(without(pa, a), b)), pb, terms_of(pb, with(without(pb, b), a)));
}

void partition_arrangement::swap(uint32_t a, uint32_t b) {
  const auto pa = part_of_[a], pb = part_of_[b];
  leave(a);
  leave(b);
  join(a, pb);
  join(b, pa);
  refresh(pa);
  refresh(pb);
  rank();
}

partition_score partition_arrangement::after_insert(uint32_t model, uint32_t to) const {
  const auto& was = parts_[to];
  const auto grown = with(was.sum, model);
  const auto square = [&](const load& l) {
    const auto rate = fair_.rates[to] > 0 ? l.rate / fair_.rates[to] : 0;
    const auto bytes = fair_.bytes > 0 ? l.bytes / fair_.bytes : 0;
    return rate * rate + p_->memory_weight * bytes * bytes;
  };
  return {terms_of(to, grown).excess - was.share.excess, square(grown) - square(was.sum), 0};
}

void partition_arrangement::insert(uint32_t model, uint32_t to) {
  join(model, to);
  refresh(to);
  rank();
}

partition_arrangement::load partition_arrangement::with(const load& l, uint32_t model) const {
  const auto& m = p_->models[model];
  return {l.rate + m.rate, l.bytes + m.static_bytes, std::max(l.dynamic, m.dynamic_bytes)};
}

partition_arrangement::load partition_arrangement::without(uint32_t from, uint32_t model) const {
  const auto& x = parts_[from];
  const auto& m = p_->models[model];
  return {x.sum.rate - m.rate, x.sum.bytes - m.static_bytes,
          x.top == model ? x.second_dynamic : x.sum.dynamic};
}

partition_arrangement::terms partition_arrangement::terms_of(uint32_t j, const load& l) const {
  const auto& limits = p_->parts[j];
  terms t;
  if (fair_.rates[j] > 0) t.rate = std::abs(l.rate / fair_.rates[j] - 1);
  if (fair_.bytes > 0) t.bytes = std::abs(l.bytes / fair_.bytes - 1);
  t.excess = excess_of(l.rate, limits.max_rate) + excess_of(l.bytes + l.dynamic, limits.max_bytes);
  return t;
}

/// Score if parts a and b (`no_part`: none) had these terms.
partition_score partition_arrangement::score_of(uint32_t a, const terms& ta, uint32_t b,
                                                const terms& tb) const {
  const auto largest_of_others = [&](const std::array<uint32_t, 3>& ranked, double terms::*of) {
    for (const auto j : ranked)
      if (j != a && j != b && j != no_part) return parts_[j].share.*of;
    return 0.0;
  };
  auto excess = excess_, squares = squares_;
  auto rate = largest_of_others(by_rate_, &terms::rate), bytes = largest_of_others(by_bytes_, &terms::bytes);
  const auto replace = [&](uint32_t j, const terms& t) {
    if (j == no_part) return;
    const auto& was = parts_[j].share;
    excess += t.excess - was.excess;
    squares += t.squares(p_->memory_weight) - was.squares(p_->memory_weight);
    rate = std::max(rate, t.rate);
    bytes = std::max(bytes, t.bytes);
  };
  replace(a, ta);
  replace(b, tb);
  const auto objective = rate + p_->memory_weight * bytes;
  return {excess < 1e-12 ? 0 : excess,
          objective + std::max(squares, 0.0) / static_cast<double>(parts_.size()), objective};
}

void partition_arrangement::join(uint32_t model, uint32_t to) {
  part_of_[model] = to;
  place_[model] = static_cast<uint32_t>(parts_[to].members.size());
  parts_[to].members.push_back(model);
  cost_ += p_->cost_of_change(model, to);
}

void partition_arrangement::leave(uint32_t model) {
  auto& members = parts_[part_of_[model]].members;
  cost_ -= p_->cost_of_change(model, part_of_[model]);
  place_[members.back()] = place_[model];
  members[place_[model]] = members.back();
  members.pop_back();
}

/// Recomputes the sums of a part, so that rounding errors do not accumulate.
void partition_arrangement::refresh(uint32_t j) {
  auto& x = parts_[j];
  x.sum = {};
  x.second_dynamic = 0;
  x.top = no_part;
  for (const auto i : x.members) {
    const auto& m = p_->models[i];
    x.sum.rate += m.rate;
    x.sum.bytes += m.static_bytes;
    if (x.top == no_part || m.dynamic_bytes > x.sum.dynamic) {
      x.second_dynamic = x.sum.dynamic;
      x.sum.dynamic = m.dynamic_bytes;
      x.top = i;
    } else {
      x.second_dynamic = std::max(x.second_dynamic, m.dynamic_bytes);
    }
  }
  x.share = terms_of(j, x.sum);
}

void partition_arrangement::rank() {
  excess_ = squares_ = 0;
  by_rate_ = by_bytes_ = {no_part, no_part, no_part};
  const auto note = [&](std::array<uint32_t, 3>& ranked, uint32_t j, double terms::*of) {
    for (auto& place : ranked) {
      if (j == no_part) return;
      if (place == no_part || parts_[j].share.*of > parts_[place].share.*of) std::swap(place, j);
    }
  };
  for (uint32_t j = 0; j < parts_.size(); ++j) {
    excess_ += parts_[j].share.excess;
    squares_ += parts_[j].share.squares(p_->memory_weight);
    note(by_rate_, j, &terms::rate);
    note(by_bytes_, j, &terms::bytes);
  }
}

}  // namespace troupe

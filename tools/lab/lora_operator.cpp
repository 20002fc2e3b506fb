#include "tools/lab/lora_operator.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::lab {

lora_operator::lora_operator(const latency_setup& s, size_t pool_bytes)
    : setup_(s), rows_(rows_by_adapter(s.popularity, s.batch)) {
  const size_t matrix = size_t{s.rank} * s.width;
  const auto count = std::max(rows_.size(), pool_bytes / (2 * matrix * sizeof(uint16_t)) + 1);
  pool_.resize(count * 2 * matrix);
  uint32_t state = 1;
  for (auto& w : pool_) {  // small numbers of both signs
    state = state * 1664525 + 1013904223;
    w = static_cast<uint16_t>(0x3c00 | (state >> 16 & 0x807f));
  }
  adapters_.resize(count);
  for (size_t i = 0; i < count; ++i)
    adapters_[i] = {&pool_[2 * i * matrix], &pool_[(2 * i + 1) * matrix], s.rank, 1};
  copies_.resize(s.batch * 2 * matrix);
  of_copies_.resize(s.batch);
  ends_ = one_row_ends_ = {0};
  for (const auto n : rows_) ends_.push_back(ends_.back() + n);
  for (uint32_t r = 0; r < s.batch; ++r) {
    of_copies_[r] = {&copies_[2 * r * matrix], &copies_[(2 * r + 1) * matrix], s.rank, 1};
    one_row_ends_.push_back(r + 1);
    gathered_.push_back(&of_copies_[r]);
  }
  chosen_.resize(rows_.size());
  x_.resize(size_t{s.batch} * s.width);
  for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 13) / 16 - 0.375f;
  v_.resize(size_t{s.batch} * s.rank);
  y_.resize(x_.size());
}

kernels::lora_args lora_operator::args(uint32_t first_row) {
  kernels::lora_args a;
  a.segments.type = element::bf16;
  a.x = &x_[size_t{first_row} * setup_.width];
  a.v = &v_[size_t{first_row} * setup_.rank];
  a.y = &y_[size_t{first_row} * setup_.width];
  a.x_stride = a.y_stride = a.in = a.out = setup_.width;
  a.v_stride = setup_.rank;
  return a;
}

void lora_operator::gather() {
  const size_t bytes = size_t{setup_.rank} * setup_.width * sizeof(uint16_t);
  for (size_t i = 0, row = 0; i < rows_.size(); ++i)
    for (uint32_t n = 0; n < rows_[i]; ++n, ++row)
      std::memcpy(&copies_[row * 2 * bytes / sizeof(uint16_t)], chosen_[i]->a, 2 * bytes);
}

void lora_operator::run(method how) {
  last_ = next_;
  for (auto& c : chosen_) c = &adapters_[next_++ % adapters_.size()];
  next_ %= adapters_.size();
  if (how == method::loop) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      const uint32_t ends[]{0, rows_[i]};
      auto a = args(ends_[i]);
      a.segments.segment_end = ends;
      a.segments.adapters = &chosen_[i];
      a.segments.count = 1;
      kernels::lora(a);
    }
    return;
  }
  auto a = args(0);
  if (how == method::gather_bmm) {
    gather();
    a.segments.segment_end = one_row_ends_.data();
    a.segments.adapters = gathered_.data();
    a.segments.count = setup_.batch;
  } else {
    a.segments.segment_end = ends_.data();
    a.segments.adapters = chosen_.data();
    a.segments.count = static_cast<uint32_t>(rows_.size());
  }
  kernels::lora(a);
}

}  // namespace troupe::lab

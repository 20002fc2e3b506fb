#include "gpu/onnx/operators/strided_copy.hpp"

#include <cstring>

namespace troupe::onnx {

strided_copy::strided_copy(const shape& dims, const side& from, const side& to, size_t element_bytes)
    : unit_(element_bytes), empty_(element_count(dims) == 0) {
  const auto bytes = static_cast<int64_t>(element_bytes);
  from_first_ = from.first * bytes;
  to_first_ = to.first * bytes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const int64_t from_step = from.steps[i] * bytes, to_step = to.steps[i] * bytes;
    if (!dims_.empty() && from_steps_.back() == from_step * dims[i] &&
        to_steps_.back() == to_step * dims[i]) {
      dims_.back() *= dims[i];
      from_steps_.back() = from_step;
      to_steps_.back() = to_step;
    } else {
      dims_.push_back(dims[i]);
      from_steps_.push_back(from_step);
      to_steps_.push_back(to_step);
    }
  }
  if (!dims_.empty() && from_steps_.back() == bytes && to_steps_.back() == bytes) {
    unit_ *= static_cast<size_t>(dims_.back());
    for (auto* s : {&dims_, &from_steps_, &to_steps_}) s->pop_back();
  }
  if (dims_.empty()) dims_ = from_steps_ = to_steps_ = {1};
}

void strided_copy::operator()(const std::byte* in, std::byte* out) const {
  if (empty_) return;
  switch (unit_) {
    case 1: return run<1>(in, out);
    case 2: return run<2>(in, out);
    case 4: return run<4>(in, out);
    case 8: return run<8>(in, out);
    default: return run<0>(in, out);
  }
}

/// Bytes: size of the unit if known at compile time, else 0.
template <size_t Bytes>
void strided_copy::run(const std::byte* in, std::byte* out) const {
  const size_t bytes = Bytes > 0 ? Bytes : unit_, inner = dims_.size() - 1;
  const int64_t count = dims_[inner], from_step = from_steps_[inner], to_step = to_steps_[inner];
  shape index(dims_.size(), 0);
  int64_t from = from_first_, to = to_first_;
  while (true) {
    for (int64_t k = 0; k < count; ++k) {
      std::memcpy(out + to + k * to_step, in + from + k * from_step, bytes);
    }
    size_t d = inner;
    while (d-- > 0) {
      from += from_steps_[d];
      to += to_steps_[d];
      if (++index[d] < dims_[d]) break;
      from -= from_steps_[d] * dims_[d];
      to -= to_steps_[d] * dims_[d];
      index[d] = 0;
    }
    if (d == SIZE_MAX) return;
  }
}

}  // namespace troupe::onnx

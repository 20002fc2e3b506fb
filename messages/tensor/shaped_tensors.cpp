#include "messages/tensor/shaped_tensors.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

constexpr uint64_t number_bytes = sizeof(int64_t);

constexpr uint64_t max_bytes = uint64_t{1} << 40;

}  // namespace

std::optional<uint64_t> values_bytes(std::span<const tensor_spec> tensors) {
  uint64_t sum = 0;
  for (const auto& t : tensors) {
    uint64_t n = size_of(t.type);
    for (const auto d : t.shape)
      if (d < 0 || __builtin_mul_overflow(n, static_cast<uint64_t>(d), &n) || n > max_bytes) return {};
    sum += n;
    if (sum > max_bytes) return {};
  }
  return sum;
}

uint64_t shapes_bytes(std::span<const tensor_spec> tensors) {
  uint64_t n = 0;
  for (const auto& t : tensors) n += number_bytes * (1 + t.shape.size());
  return n;
}

std::span<std::byte> write_shapes(std::span<const tensor_spec> tensors, std::span<std::byte> into) {
  const auto put = [&](int64_t x) {
    std::memcpy(into.data(), &x, sizeof x);
    into = into.subspan(sizeof x);
  };
  for (const auto& t : tensors) {
    put(static_cast<int64_t>(t.shape.size()));
    for (const auto d : t.shape) put(d);
  }
  return into;
}

bool fits(const tensor_spec& declared, std::span<const int64_t> shape) {
  return std::ranges::equal(declared.shape, shape,
                            [](int64_t d, int64_t given) { return given >= 0 && (d < 0 || d == given); });
}

std::optional<shaped_tensors> read_shapes(std::span<const tensor_spec> declared,
                                          std::span<const std::byte> bytes) {
  if (bytes.size() < shapes_bytes(declared)) return {};
  const auto take = [&] {
    int64_t x = 0;
    std::memcpy(&x, bytes.data(), sizeof x);
    bytes = bytes.subspan(sizeof x);
    return x;
  };
  shaped_tensors out;
  out.tensors.assign(declared.begin(), declared.end());
  for (size_t i = 0; i < declared.size(); ++i) {
    auto& t = out.tensors[i];
    if (take() != static_cast<int64_t>(t.shape.size())) return {};
    for (auto& d : t.shape) d = take();
    if (!fits(declared[i], t.shape)) return {};
  }
  if (values_bytes(out.tensors) != bytes.size()) return {};
  out.values = bytes;
  return out;
}

}  // namespace troupe

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

uint64_t rows_of(const shaped_tensors& request) {
  return static_cast<uint64_t>(request.tensors.front().shape.front());
}

uint64_t total_rows(std::span<const shaped_tensors> requests, std::span<const size_t> which) {
  uint64_t sum = 0;
  for (const auto i : which) sum += rows_of(requests[i]);
  return sum;
}

std::vector<std::vector<size_t>> equal_rows(std::span<const shaped_tensors> requests, bool together) {
  const auto has_rows = [](const shaped_tensors& r) {
    return !r.tensors.empty() && std::ranges::all_of(r.tensors, [&](const tensor_spec& t) {
      return !t.shape.empty() && !r.tensors.front().shape.empty() &&
             t.shape.front() == r.tensors.front().shape.front() && t.shape.front() > 0;
    });
  };
  const auto agree = [](const tensor_spec& a, const tensor_spec& b) {
    return std::ranges::equal(std::span(a.shape).subspan(1), std::span(b.shape).subspan(1));
  };
  std::vector<std::vector<size_t>> out;
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto same = std::ranges::find_if(out, [&](const std::vector<size_t>& which) {
      const auto& other = requests[which.front()];
      return has_rows(requests[i]) && has_rows(other) &&
             std::ranges::equal(requests[i].tensors, other.tensors, agree);
    });
    if (together && same != out.end())
      same->push_back(i);
    else
      out.push_back({i});
  }
  return out;
}

/// FNV-1a.
uint64_t shape_class_of(std::span<const tensor_spec> tensors, bool with_rows) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](uint64_t x) {
    for (int i = 0; i < 8; ++i, x >>= 8) hash = (hash ^ (x & 0xff)) * 0x100000001b3;
  };
  for (const auto& t : tensors) {
    mix(t.shape.size());
    for (size_t i = with_rows ? 0 : 1; i < t.shape.size(); ++i) mix(static_cast<uint64_t>(t.shape[i]));
  }
  return std::max<uint64_t>(hash, 1);
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

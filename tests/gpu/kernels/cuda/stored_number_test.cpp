#include "gpu/kernels/cuda/stored_number.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

using namespace troupe;
using namespace troupe::cuda;

namespace {

struct number_kind {
  data_type type;
  size_t size;
  bool has_sign;
};
constexpr number_kind numeric[] = {
    {data_type::uint8, 1, false},  {data_type::uint16, 2, false}, {data_type::uint32, 4, false},
    {data_type::uint64, 8, false}, {data_type::int8, 1, true},    {data_type::int16, 2, true},
    {data_type::int32, 4, true},   {data_type::int64, 8, true},   {data_type::fp16, 2, true},
    {data_type::bf16, 2, true},    {data_type::fp32, 4, true},    {data_type::fp64, 8, true}};

/// x in the representation of the type.
template <class T>
T through(data_type type, T x) {
  uint64_t stored = 0;
  store_number<T>(&stored, type, 0, x);
  return load_number<T>(&stored, type, 0);
}

template <class To, class From>
void saturates() {
  using limits = std::numeric_limits<To>;
  const volatile From nan = std::numeric_limits<From>::quiet_NaN();  // compilers fold a constant to 0
  CHECK(convert_number<To, From>(nan) == 0);
  for (const From far : {From{1e30}, std::numeric_limits<From>::infinity()}) {
    CHECK(convert_number<To>(far) == limits::max());
    CHECK(convert_number<To>(-far) == limits::min());
  }
  CHECK(convert_number<To>(static_cast<From>(limits::max())) == limits::max());
  CHECK(convert_number<To>(static_cast<From>(limits::min())) == limits::min());
}

}  // namespace

TEST_CASE("stored number: every type stores and loads small numbers exactly") {
  for (const auto& n : numeric) {
    CAPTURE(static_cast<int>(n.type));
    for (const int x : {0, 1, 2, 100, -100}) {
      if (x < 0 && !n.has_sign) continue;
      CHECK(through<float>(n.type, static_cast<float>(x)) == x);
      CHECK(through<double>(n.type, x) == x);
      CHECK(through<int64_t>(n.type, x) == x);
      CHECK(through<uint64_t>(n.type, static_cast<uint64_t>(std::abs(x))) ==
            static_cast<uint64_t>(std::abs(x)));
    }
  }
}

TEST_CASE("stored number: adjacent numbers are not written") {
  for (const auto& n : numeric) {
    std::array<uint64_t, 3> stored;
    stored.fill(~uint64_t{0});
    store_number<float>(stored.data(), n.type, 1, 0);
    const auto* bytes = reinterpret_cast<const unsigned char*>(stored.data());
    int wrong = 0;
    for (size_t i = 0; i < sizeof stored; ++i) wrong += bytes[i] != (i / n.size == 1 ? 0 : 0xff);
    CHECK(wrong == 0);
  }
}

TEST_CASE("stored number: a non-zero number is stored as true, and a non-zero byte is loaded as 1") {
  CHECK(through<float>(data_type::boolean, 0.25F) == 1);
  CHECK(through<float>(data_type::boolean, -0.0F) == 0);
  CHECK(through<int64_t>(data_type::boolean, 256) == 1);
  const uint8_t seven = 7;
  CHECK(load_number<float>(&seven, data_type::boolean, 0) == 1);
}

TEST_CASE("stored number: 64-bit types keep all 64 bits") {
  using limits = std::numeric_limits<int64_t>;
  for (const int64_t x : {limits::max(), limits::min(), int64_t{-1}, (int64_t{1} << 53) + 1})
    CHECK(through<int64_t>(data_type::int64, x) == x);
  CHECK(through<uint64_t>(data_type::uint64, ~uint64_t{0}) == ~uint64_t{0});
  CHECK(through<double>(data_type::fp64, 0.1) == 0.1);
  CHECK(through<double>(data_type::fp32, 0.1) == 0.1F);
}

TEST_CASE("stored number: integers wrap in narrower types, floats truncate and saturate") {
  CHECK(through<int64_t>(data_type::uint8, 0x1ff) == 0xff);
  CHECK(through<int64_t>(data_type::int8, 0xff) == -1);
  CHECK(through<int64_t>(data_type::int32, (int64_t{1} << 32) + 5) == 5);
  CHECK(through<float>(data_type::int8, -3.7F) == -3);
  saturates<int8_t, float>();
  saturates<uint8_t, float>();
  saturates<int32_t, float>();
  saturates<uint32_t, double>();
  saturates<int64_t, float>();
  saturates<uint64_t, double>();
}

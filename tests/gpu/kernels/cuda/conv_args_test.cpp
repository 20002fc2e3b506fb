#include "gpu/kernels/cuda/conv_args.hpp"

#include <doctest/doctest.h>

#include <set>
#include <utility>

using namespace troupe;
using namespace troupe::cuda;

namespace {

alignas(16) float some_numbers[4];

/// [1, 4, 5, 5] with a 1x1 kernel.
conv_args small() {
  conv_args a;
  a.x = a.w = a.y = some_numbers;
  a.batch = 1, a.channels = a.features = 4, a.groups = 2;
  for (const int d : {0, 1}) a.in[d] = a.out[d] = 5, a.kernel[d] = a.stride[d] = a.dilation[d] = 1;
  return a;
}

template <class Change>
conv_args changed(Change change) {
  conv_args a = small();
  change(a);
  return a;
}

}  // namespace

TEST_CASE("conv args: a convolution with inconsistent numbers is refused by name") {
  check(small());
  const auto refused = [](auto change, const char* why) {
    CHECK_THROWS_WITH_AS(check(changed(change)), doctest::Contains(why), conv_error);
  };
  refused([](conv_args& a) { a.out[0] = 4; },
          "a convolution of [1, 4, 5, 5] with [4, 2, 1, 1] to [1, 4, 4, 5] (groups 2, strides 1, 1, "
          "dilations 1, 1, "
          "pads 0, 0): the extents do not fit together");
  refused([](conv_args& a) { a.groups = 3; }, "groups");
  refused([](conv_args& a) { a.groups = 0; }, "groups");
  refused([](conv_args& a) { a.features = 3; }, "groups");
  refused([](conv_args& a) { a.dims = 4; }, "spatial");
  refused([](conv_args& a) { a.dims = 0; }, "spatial");
  refused([](conv_args& a) { a.stride[1] = 0; }, "at least 1");
  refused([](conv_args& a) { a.dilation[0] = 0; }, "at least 1");
  refused([](conv_args& a) { a.kernel[1] = 0; }, "at least 1");
  refused([](conv_args& a) { a.kernel[1] = 6; }, "fit together");
  refused([](conv_args& a) { a.batch = 0; }, "nothing");
  refused([](conv_args& a) { a.batch = 1U << 31; }, "2^31");
  refused([](conv_args& a) { ++a.x; }, "16 bytes");
  refused([](conv_args& a) { a.residual = some_numbers + 1; }, "16 bytes");
}

TEST_CASE(
    "conv args: output extents must match kernel, stride, dilation and padding, inversely if transposed") {
  auto a = small();
  a.dims = 1, a.in[0] = 9, a.kernel[0] = 3, a.stride[0] = 2, a.dilation[0] = 2, a.pad[0] = 1;
  a.out[0] = 4;  // windows of 5 from 0, 2, 4 and 6 of 11
  check(a);
  std::swap(a.in[0], a.out[0]);
  CHECK_THROWS_AS(check(a), conv_error);
  a.transposed = true;
  check(a);
  a.out[0] = 10;  // one more than its windows cover: less than a stride
  check(a);
  a.out[0] = 11;
  CHECK_THROWS_AS(check(a), conv_error);
}

TEST_CASE("conv args: a kernel may exceed its input, but not the padded input") {
  auto a = small();
  a.dims = 1, a.in[0] = 1, a.out[0] = 1, a.kernel[0] = 3, a.pad[0] = 1;
  check(a);
  a.pad[0] = 0;
  CHECK_THROWS_AS(check(a), conv_error);
}

TEST_CASE("conv args: keys cover everything but addresses") {
  std::set<conv_key> keys{key_of(small())};
  const auto is_another = [&](auto change) { CHECK(keys.insert(key_of(changed(change))).second); };
  is_another([](conv_args& a) { a.batch = 2; });
  is_another([](conv_args& a) { a.channels = 2; });
  is_another([](conv_args& a) { a.features = 2; });
  is_another([](conv_args& a) { a.groups = 1; });
  is_another([](conv_args& a) { a.dims = 1; });
  for (const int d : {0, 1}) {
    is_another([=](conv_args& a) { a.in[d] = 2; });
    is_another([=](conv_args& a) { a.out[d] = 2; });
    is_another([=](conv_args& a) { a.kernel[d] = 2; });
    is_another([=](conv_args& a) { a.stride[d] = 2; });
    is_another([=](conv_args& a) { a.dilation[d] = 2; });
    is_another([=](conv_args& a) { a.pad[d] = 2; });
  }
  is_another([](conv_args& a) { a.transposed = true; });
  is_another([](conv_args& a) { a.channels_last = true; });
  is_another([](conv_args& a) { a.relu = true; });
  is_another([](conv_args& a) { a.tf32 = true; });
  is_another([](conv_args& a) { a.bias = some_numbers; });
  is_another([](conv_args& a) { a.residual = some_numbers; });
  const auto is_the_same = [](auto change) { CHECK(key_of(changed(change)) == key_of(small())); };
  is_the_same([](conv_args& a) { a.x = a.w = nullptr, a.y = nullptr; });
  is_the_same([](conv_args& a) { a.in[2] = a.pad[2] = 7; });  // there are only two dimensions
}

TEST_CASE("conv args: a convolution without its epilogue has the key of the plain convolution") {
  auto a = small();
  CHECK_FALSE(a.has_epilogue());
  for (const auto& with : {changed([](conv_args& c) { c.bias = some_numbers; }),
                           changed([](conv_args& c) { c.residual = some_numbers; }),
                           changed([](conv_args& c) { c.relu = true; })}) {
    CHECK(with.has_epilogue());
    CHECK_FALSE(with.without_epilogue().has_epilogue());
    CHECK(key_of(with.without_epilogue()) == key_of(a));
  }
}

TEST_CASE("conv args: the text of a transposed convolution has its weights' dimensions in memory order") {
  auto a = small();
  a.dims = 1, a.transposed = a.channels_last = true, a.features = 6;
  CHECK(to_string(a) ==
        "a transposed convolution of [1, 4, 5] with [4, 3, 1] to [1, 6, 5] (groups 2, strides 1, "
        "dilations 1, pads 0, channels last)");
}

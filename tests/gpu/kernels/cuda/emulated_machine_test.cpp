#include "tests/gpu/kernels/cuda/emulated_machine.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/gpu/kernels/cuda/conv_case.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

std::vector<float> by_loops(conv_args a) {
  std::vector<float> y(y_size(a));
  a.y = y.data();
  conv_reference(a);
  return y;
}

}  // namespace

TEST_CASE("emulated machine: work runs only when it is waited for, in order") {
  emulated_machine machine;
  int from = 1, between = 0, to = 0;
  machine.upload(&between, &from, sizeof from);
  machine.download(&to, &between, sizeof to);
  CHECK(between == 0);
  from = 2;  // too early for the copy
  machine.finish();
  CHECK(to == 2);
  CHECK(machine.idle());
  machine.upload(&to, &from, sizeof from);
  machine.mark(0);
  machine.clear(&to, sizeof to);
  machine.wait(0);
  CHECK(to == 2);
  machine.finish();
  CHECK(to == 0);
}

TEST_CASE("emulated machine: copies beside the stream are done when they are waited for") {
  emulated_machine machine;
  int from[3] = {1, 2, 3}, to[3] = {};
  machine.begin_copy(0, to, from, sizeof *from);
  machine.begin_copy(1, to + 1, from + 1, sizeof *from);
  machine.finish();
  CHECK(to[0] == 0);
  from[0] = 4;  // too early
  machine.finish_copy(0);
  CHECK(to[0] == 4);
  CHECK(to[1] == 0);
  machine.begin_copy(0, to + 2, from + 2, sizeof *from);
  machine.finish_copy(0);
  CHECK(to[1] == 2);
  CHECK(to[2] == 3);
}

TEST_CASE("emulated machine: a graph replays the recorded work until it is dropped") {
  emulated_machine machine;
  const int one = 1, two = 2;
  int to = 0;
  const auto replay = [&](const int& from) {
    machine.replay(7, [&] { machine.upload(&to, &from, sizeof to); });
    machine.finish();
    return to;
  };
  CHECK(replay(one) == 1);
  to = 0;
  CHECK(replay(two) == 1);
  CHECK(machine.captures() == 1);
  machine.drop_graphs(7);
  CHECK(replay(two) == 2);
  CHECK(machine.captures() == 2);
}

TEST_CASE("emulated machine: a convolution fuses bias, residual and ReLU only where it supports them") {
  std::mt19937 random(2);
  conv_args a;
  a.dims = 1, a.batch = 1, a.channels = a.features = 2, a.in[0] = a.out[0] = 3;
  a.kernel[0] = a.stride[0] = a.dilation[0] = 1;
  conv_case c(a, true, false, random);
  emulated_machine machine;
  CHECK(machine.prepare(c.args));
  CHECK(std::isnan(c.y[0]));
  machine.replay(1, [&] { machine.convolve(c.args); });
  machine.finish();
  CHECK(distance(c.y, by_loops(c.args)) == 0);

  machine.fuse_convolutions(false);
  CHECK_FALSE(machine.prepare(c.args));
  CHECK_THROWS_AS(machine.convolve(c.args), conv_error);
  const conv_args bare = c.args.without_epilogue();
  CHECK(machine.prepare(bare));
  machine.replay(2, [&] { machine.convolve(bare); });
  machine.finish();
  CHECK(distance(c.y, by_loops(bare)) == 0);

  c.args.transposed = true;
  machine.fuse_convolutions(true);
  CHECK_FALSE(machine.prepare(c.args));
}

TEST_CASE("emulated machine: a graph accepts only convolutions prepared before the capture") {
  std::mt19937 random(4);
  conv_case c = random_convolution(random);
  c.args = c.args.without_epilogue();
  emulated_machine machine;
  CHECK_THROWS_AS(machine.replay(1, [&] { machine.convolve(c.args); }), conv_error);
  CHECK_THROWS_AS(machine.replay(1, [&] { machine.prepare(c.args); }), conv_error);
  machine.convolve(c.args);  // outside of a graph it would prepare itself
}

// cuDNN's convolutions, on a GPU, against plain loops.
#include "gpu/kernels/cuda/conv.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/conv_case.hpp"
#include "tests/gpu/kernels/cuda/conv_reference.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Runs the part of `a` that the convolution left to its caller.
void finish(const conv_args& a) {
  const size_t spatial = positions(a, a.out);
  for (size_t i = 0; i < y_size(a); ++i) {
    const size_t f = a.channels_last ? i % a.features : i / spatial % a.features;
    if (a.bias != nullptr) a.y[i] += a.bias[f];
    if (a.residual != nullptr) a.y[i] += a.residual[i];
    if (a.relu) a.y[i] = std::max(a.y[i], 0.0F);
  }
}

struct graph_stream {
  graph_stream() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"); }
  ~graph_stream() { cudaStreamDestroy(stream); }
  template <class Record>
  void replay(Record record) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    record();
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&made, graph, 0), "a graph");
    check(cudaGraphLaunch(made, stream), "a graph");
    check(cudaStreamSynchronize(stream), "a graph");
    cudaGraphExecDestroy(made), cudaGraphDestroy(graph);
  }
  cudaStream_t stream = nullptr;
};

struct tally {
  int taken = 0, left = 0, refused = 0;
};

bool has_cudnn() {
  if (!conv::available) MESSAGE("not run: this build has no cuDNN");
  return conv::available;
}

/// Transposed in 3-D with a dilation: cuDNN may have no deterministic algorithm for it.
bool dilated_back_in_3d(const conv_args& a) {
  bool dilated = false;
  for (uint32_t d = 0; d < a.dims; ++d) dilated = dilated || (a.kernel[d] > 1 && a.dilation[d] > 1);
  return a.transposed && a.dims == 3 && dilated;
}

/// cuDNN may refuse cases that are not `common`.
void check_case(conv& convolutions, conv_case& c, bool common, tally& t) {
  CAPTURE(to_string(c.args));
  CAPTURE(c.args.tf32);
  std::vector<float> expected(c.y.size());
  conv_args plain = c.args;
  plain.y = expected.data();
  conv_reference(plain);
  graph_stream s;
  bool takes = false;
  try {
    takes = convolutions.prepare(c.args, s.stream);
  } catch (const conv_error& e) {
    ++t.refused;
    if (common) FAIL_CHECK(e.what());
    return;
  }
  ++(takes ? t.taken : t.left);
  if (!takes) CHECK_THROWS_AS(convolutions.run(c.args, s.stream), conv_error);
  const conv_args done = takes ? c.args : c.args.without_epilogue();
  convolutions.run(done, s.stream);
  check(cudaStreamSynchronize(s.stream), "a convolution");
  if (!takes) finish(c.args);
  const std::vector<float> first = c.y.values();
  // sums of tens of numbers below 1 in magnitude; the error of a wrong one is of their order
  const double terms = std::sqrt(static_cast<double>(w_size(c.args) / c.args.features));
  CHECK(differences(c.y, expected, terms * (c.args.tf32 ? 2e-3 : 1e-4)) == 0);
  s.replay([&] { convolutions.run(done, s.stream); });
  if (!takes) finish(c.args);
  CHECK(differences(c.y, first) == 0);
  CHECK(c.y.intact());
}

}  // namespace

TEST_CASE("random convolutions by cuDNN equal the reference, also as a graph") {
  if (!has_cudnn()) return;
  conv convolutions;
  std::mt19937 random(1);
  tally t;
  for (int round = 0; round < 200; ++round) {
    conv_case c = random_convolution(random);
    c.args.tf32 = round % 2 == 0;
    check_case(convolutions, c, !c.args.channels_last && !dilated_back_in_3d(c.args), t);
  }
  MESSAGE("whole: ", t.taken, ", without bias, residual and relu: ", t.left, ", refused: ", t.refused);
}

TEST_CASE("convolutions of realistic size by cuDNN equal the reference") {
  if (!has_cudnn()) return;
  conv convolutions;
  std::mt19937 random(2);
  tally t;
  for (const bool tf32 : {false, true})
    for (const bool last : {false, true})
      for (const uint32_t kernel : {1, 3})
        for (const uint32_t groups : {1, 64}) {
          conv_args a;
          a.batch = 2, a.channels = a.features = 64, a.groups = groups, a.relu = true, a.tf32 = tf32;
          a.channels_last = last;
          for (const int d : {0, 1}) {
            a.in[d] = a.out[d] = 14, a.kernel[d] = kernel, a.stride[d] = a.dilation[d] = 1;
            a.pad[d] = kernel / 2;
          }
          for (const bool residual : {false, true}) {
            conv_case c(a, true, residual, random);
            check_case(convolutions, c, groups == 1 || !last, t);
          }
        }
  MESSAGE("whole: ", t.taken, ", without bias, residual and relu: ", t.left, ", refused: ", t.refused);
}

TEST_CASE("an unprepared convolution is refused during graph capture") {
  if (!has_cudnn()) return;
  conv convolutions;
  std::mt19937 random(3);
  conv_case c = random_convolution(random);
  c.args = c.args.without_epilogue();
  graph_stream s;
  s.replay([&] { CHECK_THROWS_AS(convolutions.run(c.args, s.stream), conv_error); });
}

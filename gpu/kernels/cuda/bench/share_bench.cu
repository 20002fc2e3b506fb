// gpu_share_bench [--json]: measures products on shares of a GPU's multiprocessors, alone and beside another
// on a disjoint share. The ratio of both times is the slowdown that shared L2 and bandwidth cause.
//
// "weights" multiplies 16 rows with cold matrices of 4096 x 4096, as a decode step does, and is bound by
// memory; "product" multiplies 4096 rows, as a prefill does, and is bound by the tensor cores.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "gpu/kernels/cuda/bench/green_context.hpp"
#include "gpu/kernels/cuda/device_memory.hpp"
#include "gpu/kernels/cuda/gemm.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

constexpr uint32_t width = 4096;
constexpr uint32_t matrices = 16;  // 512 MiB, which no L2 holds

/// Products of `rows` rows with each matrix in turn, on any stream.
class load {
 public:
  load(std::string named, uint32_t rows)
      : name(std::move(named)),
        rows_(rows),
        x_(size_t{rows} * width * 2),
        y_(x_.size()),
        weights_(size_t{matrices} * width * width * 2) {
    // Zeros would use less power than real numbers: bytes of 0x3c are bf16 numbers of 0.0115.
    check(cudaMemset(x_.data(), 0x3c, x_.size()), "the inputs");
    check(cudaMemset(weights_.data(), 0x3c, weights_.size()), "the weights");
    check(cudaDeviceSynchronize(), "the inputs");
  }
  void run(cudaStream_t stream, uint32_t matrix) {
    gemm_args a;
    a.type = element::bf16;
    a.rows = rows_, a.in = a.out = width;
    a.x = x_.data();
    a.w = weights_.data() + size_t{matrix % matrices} * width * width * 2;
    a.y = y_.data(), a.y_stride = width;
    products_.run(a, stream);
  }

  std::string name;

 private:
  uint32_t rows_;
  device_memory x_, y_, weights_;
  gemm products_;
};

/// Microseconds of a run; `beside` enqueues other work first.
double time(
    load& l, cudaStream_t stream, const std::function<void()>& beside = [] {}) {
  constexpr uint32_t warm_up = 8, runs = 64;
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "an event");
  check(cudaEventCreate(&end), "an event");
  beside();
  for (uint32_t i = 0; i < warm_up; ++i) l.run(stream, i);
  check(cudaEventRecord(begin, stream), "an event");
  for (uint32_t i = 0; i < runs; ++i) l.run(stream, i);
  check(cudaEventRecord(end, stream), "an event");
  check(cudaDeviceSynchronize(), "the runs");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "an event");
  check(cudaEventDestroy(begin), "an event");
  check(cudaEventDestroy(end), "an event");
  return ms * 1e3 / runs;
}

struct row {
  std::string op, shape;
  double us = 0, alone_us = 0;  ///< alone_us: the time that the row is compared with
};

void print(const std::vector<row>& rows, bool json) {
  if (json) std::printf("[\n");
  for (size_t i = 0; i < rows.size(); ++i) {
    const row& r = rows[i];
    if (json) {
      std::printf(R"(  {"op": "%s", "shape": "%s", "us": %.3f, "alone_us": %.3f, "ratio": %.4f}%s)",
                  r.op.c_str(), r.shape.c_str(), r.us, r.alone_us, r.us / r.alone_us,
                  i + 1 < rows.size() ? ",\n" : "\n]\n");
    } else {
      std::printf("%-20s %-44s %10.2f us %6.2f x\n", r.op.c_str(), r.shape.c_str(), r.us, r.us / r.alone_us);
    }
  }
}

std::vector<row> measure() {
  const std::vector<CUdevResource> groups = multiprocessor_groups();
  const auto share = [&](size_t first, size_t count) {
    const auto begin = groups.begin() + static_cast<ptrdiff_t>(first);
    return green_context({begin, begin + static_cast<ptrdiff_t>(count)});
  };
  load weights("weights", 16), product("product", 4096);
  std::vector<row> rows;
  for (load* l : {&weights, &product}) {
    double whole = 0;
    for (size_t count = groups.size(); count > 0; count = count > 1 ? count / 2 : 0) {
      const green_context part = share(0, count);
      const double us = time(*l, part.stream());
      if (count == groups.size()) whole = us;
      rows.push_back(
          {"share: " + l->name, std::to_string(part.multiprocessors()) + " multiprocessors", us, whole});
    }
  }
  const size_t half = groups.size() / 2;
  if (half == 0) return rows;
  const green_context left = share(0, half), right = share(half, half);
  load other_weights("weights", 16), other_product("product", 4096);
  for (load* l : {&weights, &product}) {
    const double alone = time(*l, left.stream());
    for (load* other : {&other_weights, &other_product}) {
      // The other load must last longer than this one.
      const double other_us = time(*other, right.stream());
      const auto runs = static_cast<uint32_t>(std::min(20000.0, 200 * alone / other_us + 1));
      const double us = time(*l, left.stream(), [&] {
        for (uint32_t i = 0; i < runs; ++i) other->run(right.stream(), i);
      });
      rows.push_back({"co-run: " + l->name,
                      std::to_string(left.multiprocessors()) + " multiprocessors, beside " + other->name, us,
                      alone});
    }
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc == 2 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !json) {
    std::fprintf(stderr, "usage: gpu_share_bench [--json]\n");
    return 2;
  }
  try {
    print(measure(), json);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu_share_bench: %s\n", e.what());
    return 1;
  }
}

// Programs on an emulated machine, launch by launch.
#include "gpu/onnx/cuda/program_runner.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#include "tests/gpu/onnx/cuda/programs.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Records for each kernel whether it may start before the previous one has ended.
struct watched_machine : emulated_machine {
  using emulated_machine::emulated_machine;
  template <class Kernel>
  void run(const Kernel& kernel, grid_size grid, bool early) {
    was_early.push_back(early);
    emulated_machine::run(kernel, grid, early);
  }
  std::vector<bool> was_early;
};

/// A model's program for two rows, ready to run.
struct prepared {
  explicit prepared(onnx::graph g, bool fuses = true, bool quick = false) : model(std::move(g)) {
    machine.fuse_convolutions(fuses);
    settle(quick);
  }
  void settle(bool quick = false) {
    arena = emulated_machine::memory(runner.program().arena_bytes);
    runner.settle(arena.data(), quick);
  }
  template <class T>
  std::vector<float> run(const std::vector<T>& in, size_t output = 0) {
    std::vector<float> out(runner.program().outputs[output].bytes / sizeof(float));
    machine.upload(runner.input(0), in.data(), in.size() * sizeof(T));
    runner.launch();
    machine.download(out.data(), runner.output(output), out.size() * sizeof(float));
    machine.finish();
    return out;
  }
  kernel_fault fault(size_t i) {
    kernel_fault f;
    machine.download(&f, runner.faults() + i * sizeof f, sizeof f);
    machine.finish();
    return f;
  }

  watched_machine machine{3};
  onnx::model model;
  tensor_weights<watched_machine> weights{machine, model};
  program_runner<watched_machine> runner{machine, weights, program_of(model)};
  emulated_machine::memory arena;
};

/// y = relu(x + b + x), by a convolution of two channels.
onnx::graph residual() {
  return onnx::make_graph(
      {2, 1, 2}, {node("Conv", {"x", "w", "b"}, "c"), node("Add", {"c", "x"}, "s"), node("Relu", {"s"}, "y")},
      {"y"}, {{"w", onnx::floats({2, 2, 1, 1}, {1, 0, 0, 1})}, {"b", onnx::floats({2}, {1, -5})}});
}
const std::vector<float> residual_in{1, 2, 3, 4, -1, -2, -3, 0}, residual_out{3, 5, 1, 3, 0, 0, 0, 0};

}  // namespace

TEST_CASE("program runner: kernels find constants of any size, parameters and buffers") {
  const std::vector<int64_t> which{0, 1, 2, 2, 2, 1, 1, 0, 2};  // 72 bytes
  prepared p(onnx::make_graph(
      {3},
      {node("Gather", {"x", "which"}, "g", {{"axis", int64_t{1}}}), node("Mul", {"g", "nine"}, "m"),
       node("Add", {"m", "half"}, "h"), node("Add", {"h", "v"}, "y")},
      {"y"},
      {{"which", onnx::ints({9}, which)},
       {"nine", onnx::floats({}, {9})},
       {"half", onnx::floats({}, {0.5F})},
       {"v", onnx::floats({9}, {0, 10, 20, 30, 40, 50, 60, 70, 80})}}));
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const auto y = p.run(x);
  REQUIRE(y.size() == 18);
  for (size_t row = 0; row < 2; ++row)
    for (size_t i = 0; i < 9; ++i)
      CHECK(y[9 * row + i] ==
            9 * x[3 * row + static_cast<size_t>(which[i])] + 0.5F + 10 * static_cast<float>(i));
}

TEST_CASE("program runner: each of several outputs has its own values") {
  prepared p(onnx::make_graph({2}, {node("Exp", {"x"}, "y"), node("Sqrt", {"x"}, "z")}, {"z", "x", "y"}));
  const std::vector<float> x{0, 1, 4, 9};
  CHECK(p.run(x, 0) == std::vector<float>{0, 1, 2, 3});
  CHECK(p.run(x, 1) == x);
  CHECK(p.run(x, 2)[1] == doctest::Approx(2.718282));
}

TEST_CASE("program runner: a program runs after it is settled in other memory") {
  prepared p(residual());
  CHECK(p.run(residual_in) == residual_out);
  p.settle();  // earlier memory is freed
  CHECK(p.run(residual_in) == residual_out);
}

TEST_CASE("program runner: settle() queries again whether convolutions fuse") {
  prepared p(residual(), true);
  p.machine.fuse_convolutions(false);
  p.settle();
  CHECK(p.run(residual_in) == residual_out);
  CHECK(p.machine.was_early.size() == 1);
}

TEST_CASE("program runner: a fault is recorded for its node, and cleared by the next launch") {
  onnx::graph g;
  g.file = "lookups", g.opset = 17;
  g.inputs = {{"i", data_type::int64, {-1}}};
  g.constants = {{"long", onnx::floats({4}, {0, 1, 2, 3})}, {"short", onnx::floats({2}, {0, 10})}};
  g.nodes = {node("Gather", {"long", "i"}, "y"), node("Gather", {"short", "i"}, "z")};
  g.outputs = {"y", "z"};
  prepared p(std::move(g));
  REQUIRE(p.runner.fault_bytes() == 2 * sizeof(kernel_fault));
  CHECK(p.run<int64_t>({1, 3}) == std::vector<float>{1, 3});
  CHECK(p.fault(0).found == 0);
  CHECK(p.fault(1).found == 1);
  CHECK(p.fault(1).value == 3);
  CHECK(p.run<int64_t>({1, -1}, 1) == std::vector<float>{10, 10});
  CHECK(p.fault(1).found == 0);
}

TEST_CASE("program runner: a kernel runs the parts that a machine's convolution does not fuse") {
  prepared fused(residual(), true), apart(residual(), false);
  CHECK(fused.run(residual_in) == residual_out);
  CHECK(fused.machine.was_early.empty());
  CHECK(apart.run(residual_in) == residual_out);
  CHECK(apart.machine.was_early.size() == 1);
}

TEST_CASE("program runner: a convolution without followers is one launch on every machine") {
  prepared p(onnx::make_graph({1, 1, 2}, {node("Conv", {"x", "w"}, "y")}, {"y"},
                              {{"w", onnx::floats({2, 1, 1, 1}, {2, 3})}}),
             false);
  CHECK(p.run<float>({1, 2, 3, 4}) == std::vector<float>{2, 4, 3, 6, 6, 8, 9, 12});
  CHECK(p.machine.was_early.empty());
}

TEST_CASE("program runner: a quick settle tries no convolutions") {
  CHECK(prepared(residual()).machine.trials() == 1);
  prepared p(residual(), true, true);
  CHECK(p.machine.trials() == 0);
  CHECK(p.run(residual_in) == residual_out);
}

TEST_CASE("program runner: a kernel starts early after a kernel, not after a copy, product or convolution") {
  using flags = std::vector<bool>;
  prepared p(onnx::make_graph(
      {2},
      {node("Softmax", {"x"}, "a"), node("Softmax", {"a"}, "b"), node("MatMul", {"b", "w"}, "c"),
       node("Softmax", {"c"}, "d"), node("Softmax", {"d"}, "y")},
      {"y"}, {{"w", onnx::floats({2, 2}, {1, 2, 3, 4})}}));
  p.run<float>({1, 2, 3, 4});
  CHECK(p.machine.was_early == flags{false, true, false, true});
  p.run<float>({1, 2, 3, 4});  // its inputs are copied first
  CHECK(p.machine.was_early == flags{false, true, false, true, false, true, false, true});

  prepared c(
      onnx::make_graph({2, 1, 2},
                       {node("Softmax", {"x"}, "a"), node("Conv", {"a", "w"}, "c"), node("Relu", {"c"}, "y")},
                       {"y"}, {{"w", onnx::floats({2, 2, 1, 1}, {1, 0, 0, 1})}}),
      false);
  c.run(residual_in);
  CHECK(c.machine.was_early == flags{false, false});
}

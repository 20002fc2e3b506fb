#include "gpu/onnx/shaped_model.hpp"

#include <doctest/doctest.h>

#include "gpu/common/model_error.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

/// y = x w, as [rows, 2, 3] from [rows, 6] by a shape that is computed.
graph reshaped() {
  return make_graph({4},
                    {{"m", "MatMul", {"x", "w"}, {"p"}, {}},
                     {"s", "Shape", {"p"}, {"dims"}, {}},
                     {"g", "Gather", {"dims", "zero"}, {"rows"}, {}},
                     {"c", "Concat", {"rows", "rest"}, {"wanted"}, {{"axis", int64_t{0}}}},
                     {"r", "Reshape", {"p", "wanted"}, {"y"}, {}}},
                    {"y"},
                    {{"w", floats({4, 6}, std::vector<float>(24, 0.5F))},
                     {"zero", ints({1}, {0})},
                     {"rest", ints({2}, {2, 3})}});
}

const node& named(const model& m, std::string_view name) {
  for (const auto& n : m.program().nodes)
    if (n.name == name) return n;
  throw std::logic_error("there is no such node");
}

}  // namespace

TEST_CASE("shaped model: every value has its shape at the batch size") {
  const model m(reshaped());
  for (const int64_t rows : {1, 5}) {
    shaped_model s(m, rows);
    CHECK(s.rows() == rows);
    CHECK(s.of("x").dims == shape{rows, 4});
    CHECK(s.of("p").dims == shape{rows, 6});
    CHECK(s.of("y").dims == shape{rows, 2, 3});
    CHECK(s.of("y").type == data_type::fp32);
  }
}

TEST_CASE("shaped model: values computed from shapes are constants, and their nodes do not run") {
  const model m(reshaped());
  shaped_model s(m, 5);
  REQUIRE(s.of("wanted").constant);
  CHECK(int_values(*s.of("wanted").constant) == std::vector<int64_t>{5, 2, 3});
  for (const auto& name : {"s", "g", "c"}) CHECK(s.is_known(named(m, name)));
  for (const auto& name : {"m", "r"}) CHECK_FALSE(s.is_known(named(m, name)));
}

TEST_CASE("shaped model: fp32 numbers of constants and parameters are known, those of activations are not") {
  const model m(make_graph({2},
                           {{"a", "Add", {"x", "v"}, {"p"}, {}},
                            {"b", "Mul", {"p", "one"}, {"q"}, {}},
                            {"c", "Sub", {"q", "w"}, {"r"}, {}},
                            {"d", "Reshape", {"r", "dims"}, {"y"}, {}}},
                           {"y"},
                           {{"v", floats({2}, {3, 4})},
                            {"one", floats({}, {7})},
                            {"w", floats({2}, {5, 6})},
                            {"dims", ints({3}, {0, 1, 2})}}));
  shaped_model s(m, 3);
  const auto numbers = [&](const char* name) {
    const auto known = s.known_numbers(s.of(name));
    return std::vector<float>(known.begin(), known.end());
  };
  CHECK(s.of("v").parameter);
  CHECK(numbers("v") == std::vector<float>{3, 4});
  CHECK(numbers("w") == std::vector<float>{5, 6});
  CHECK(s.of("one").constant);
  CHECK(numbers("one") == std::vector<float>{7});
  CHECK(numbers("x").empty());
  CHECK(numbers("p").empty());
  CHECK(numbers("dims").empty());  // not of fp32
}

TEST_CASE("shaped model: attributes of a node are read by name") {
  const model m(make_graph({4},
                           {{"l", "LeakyRelu", {"x"}, {"p"}, {{"alpha", 0.5F}}},
                            {"s", "Softmax", {"p"}, {"y"}, {{"axis", int64_t{1}}}}},
                           {"y"}));
  shaped_model s(m, 1);
  CHECK(s.at(named(m, "l")).number("alpha", 0) == 0.5F);
  CHECK(s.at(named(m, "s")).integer("axis", -1) == 1);
  CHECK(s.at(named(m, "s")).number("alpha", 3) == 3);
}

TEST_CASE("shaped model: a batch size with incompatible shapes is refused with the node") {
  const model m(make_graph({4}, {{"a", "Add", {"x", "three"}, {"y"}, {}}}, {"y"},
                           {{"three", floats({3, 4}, std::vector<float>(12, 1))}}));
  shaped_model(m, 3);
  CHECK_THROWS_WITH_AS(shaped_model(m, 2), "test: node 'a' (Add): [2, 4] and [3, 4] do not broadcast",
                       model_error);
}

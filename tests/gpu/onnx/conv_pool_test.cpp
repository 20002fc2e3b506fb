// Convolutions and pools against their definitions, at random shapes and attributes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/executor.hpp"
#include "gpu/onnx/model.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

/// A random window in up to three dimensions, as attributes and as numbers.
struct random_window {
  random_window(std::mt19937& random, size_t rank, bool dilated) {
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    static const char* modes[] = {"NOTSET", "NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    mode = modes[pick(0, 5)];
    pads.resize(2 * rank);
    for (size_t i = 0; i < rank; ++i) {
      kernel.push_back(pick(1, 3));
      strides.push_back(pick(1, 3));
      dilations.push_back(dilated ? pick(1, 2) : 1);
      input.push_back(pick(7, 12));
      pads[i] = pick(0, kernel[i] - 1);
      pads[i + rank] = pick(0, kernel[i] - 1);
    }
  }

  attributes given() const {
    attributes a{{"kernel_shape", kernel}, {"strides", strides}};
    if (dilations != shape(kernel.size(), 1)) a["dilations"] = dilations;
    if (mode == "NOTSET")
      a["pads"] = pads;
    else
      a["auto_pad"] = mode;
    return a;
  }

  /// Output size and padding in front, by the definition in the ONNX specification.
  void resolve(bool ceil) {
    output.clear();
    front.clear();
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
      if (mode.starts_with("SAME")) {
        output.push_back((input[i] + strides[i] - 1) / strides[i]);
        const int64_t total = std::max<int64_t>(0, (output[i] - 1) * strides[i] + extent - input[i]);
        front.push_back(mode == "SAME_UPPER" ? total / 2 : (total + 1) / 2);
        continue;
      }
      const int64_t before = mode == "VALID" ? 0 : pads[i],
                    after = mode == "VALID" ? 0 : pads[i + kernel.size()];
      const double steps =
          static_cast<double>(input[i] + before + after - extent) / static_cast<double>(strides[i]);
      int64_t n = static_cast<int64_t>(ceil ? std::ceil(steps) : std::floor(steps)) + 1;
      if (ceil && (n - 1) * strides[i] >= input[i] + before) --n;
      output.push_back(n);
      front.push_back(before);
    }
  }

  std::string mode;
  shape kernel, strides, dilations, pads, input;
  shape output, front;
};

shape join(shape a, const shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Calls `visit(input position, kernel position, inside)` for every element of the window at `out`.
template <class Visit>
void each_tap(const random_window& w, const shape& out, const Visit& visit) {
  for (const auto& k : indices_of(w.kernel)) {
    shape at(k.size());
    bool inside = true;
    for (size_t d = 0; d < k.size(); ++d) {
      at[d] = out[d] * w.strides[d] - w.front[d] + k[d] * w.dilations[d];
      inside = inside && at[d] >= 0 && at[d] < w.input[d];
    }
    visit(at, k, inside);
  }
}

}  // namespace

TEST_CASE(
    "convolutions follow their definition: groups, strides, dilations, padding, bias, 1 to 3 dimensions") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const size_t rank = 1 + static_cast<size_t>(round) % 3;
    random_window w(random, rank, true);
    w.resolve(false);
    const int64_t groups = round % 4 == 0 ? 4 : 1 + round % 2, n = 1 + round % 3;
    const int64_t per_group = round % 4 == 0 ? 1 : 1 + round % 5, features = groups * (1 + round % 3);
    const auto x = random_floats(random, join({n, groups * per_group}, w.input));
    const auto k = random_floats(random, join({features, per_group}, w.kernel));
    const auto bias = random_floats(random, {features});
    auto a = w.given();
    a["group"] = groups;
    const shape out_dims = join({n, features}, w.output);
    std::vector<float> expected;
    for (const auto& i : indices_of(out_dims)) {
      double sum = round % 2 ? double{values(bias)[static_cast<size_t>(i[1])]} : 0;
      const int64_t group = i[1] / (features / groups);
      each_tap(w, {i.begin() + 2, i.end()}, [&](const shape& at, const shape& tap, bool inside) {
        for (int64_t c = 0; inside && c < per_group; ++c) {
          sum += double{x.as<float>()[offset_of(x.dims, join({i[0], group * per_group + c}, at))]} *
                 double{k.as<float>()[offset_of(k.dims, join({i[1], c}, tap))]};
        }
      });
      expected.push_back(static_cast<float>(sum));
    }
    std::vector<tensor> inputs{x, k};
    if (round % 2) inputs.push_back(bias);
    const auto y = run("Conv", inputs, a);
    CHECK(y.dims == out_dims);
    CHECK(difference(values(y), expected) < 1e-4);
  }
}

TEST_CASE("pools follow their definition: ceil_mode, count_include_pad, strides, dilations, padding") {
  std::mt19937 random(12);
  for (int round = 0; round < 120; ++round) {
    CAPTURE(round);
    const size_t rank = 1 + static_cast<size_t>(round) % 3;
    const bool max = round % 2 == 0, ceil = round % 5 < 2, include = round % 4 == 1;
    random_window w(random, rank, max);
    w.resolve(ceil);
    const auto x = random_floats(random, join({2, 1 + round % 20}, w.input));
    auto a = w.given();
    a["ceil_mode"] = int64_t{ceil};
    if (!max) a["count_include_pad"] = int64_t{include};
    const shape out_dims = join({x.dims[0], x.dims[1]}, w.output);
    std::vector<float> expected;
    for (const auto& i : indices_of(out_dims)) {
      double best = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
      each_tap(w, {i.begin() + 2, i.end()}, [&](const shape& at, const shape&, bool inside) {
        bool padded = true;  // within the input and the padding that the attributes give
        for (size_t d = 0; d < rank; ++d) {
          const int64_t back = w.mode == "NOTSET" ? w.pads[d + rank] : w.mode == "VALID" ? 0 : 100;
          padded = padded && at[d] < w.input[d] + back;
        }
        if (inside || (include && padded)) ++count;
        if (!inside) return;
        const double v = x.as<float>()[offset_of(x.dims, join({i[0], i[1]}, at))];
        sum += v;
        best = std::max(best, v);
      });
      expected.push_back(static_cast<float>(max ? best : sum / count));
    }
    const auto y = run(max ? "MaxPool" : "AveragePool", {x}, a);
    CHECK(y.dims == out_dims);
    CHECK(difference(values(y), expected) < 1e-5);
  }
}

TEST_CASE("a global average pool is the mean over all spatial positions") {
  std::mt19937 random(13);
  for (const shape& spatial : {shape{9}, shape{5, 7}, shape{3, 4, 5}}) {
    const auto x = random_floats(random, join({3, 19}, spatial));
    const auto y = run("GlobalAveragePool", {x});
    CHECK(y.dims == join({3, 19}, shape(spatial.size(), 1)));
    const auto n = static_cast<size_t>(element_count(spatial));
    for (size_t i = 0; i < 3 * 19; ++i) {
      const auto part = x.as<float>().subspan(i * n, n);
      const double mean = std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(n);
      CHECK(values(y)[i] == doctest::Approx(mean).epsilon(1e-5));
    }
  }
}

TEST_CASE("memory layouts chosen by oneDNN do not change the result of a chain of operators") {
  std::mt19937 random(14);
  const int64_t one = 1;
  const auto k1 = random_floats(random, {19, 3, 3, 3}), k2 = random_floats(random, {19, 19, 1, 1});
  const attributes pad{{"pads", shape{1, 1, 1, 1}}};
  std::vector<node> nodes{{"a", "Conv", {"x", "k1"}, {"a"}, pad},
                          {"b", "Conv", {"a", "k2"}, {"b"}, {}},
                          {"c", "Relu", {"a"}, {"c"}, {}},
                          {"d", "Add", {"c", "b"}, {"d"}, {}},
                          {"e", "Concat", {"d", "a", "b"}, {"e"}, {{"axis", one}}},
                          {"f", "Mul", {"e", "e"}, {"f"}, {}},
                          {"g", "ReduceMean", {"f"}, {"g"}, {{"axes", shape{1}}}}};
  auto g = make_graph({3, 6, 5}, nodes, {"g"}, {{"k1", k1}, {"k2", k2}});
  const auto m = std::make_shared<const model>(std::move(g));
  executor e(m, load_weights(*m));
  const auto x = random_floats(random, {2, 3, 6, 5});
  const auto y = e.run({0, m->layers().size()}, {x}).at(0);

  // The same, one operator at a time, on constants.
  const auto a = fold("Conv", {x, k1}, pad), b = fold("Conv", {a, k2});
  const auto d = fold("Add", {fold("Relu", {a}), b});
  const auto joined = fold("Concat", {d, a, b}, {{"axis", one}});
  const auto expected = fold("ReduceMean", {fold("Mul", {joined, joined})}, {{"axes", shape{1}}});
  CHECK(y.dims == expected.dims);
  CHECK(difference(values(y), values(expected)) < 1e-5);
}

TEST_CASE("invalid windows are refused") {
  std::mt19937 random(15);
  const auto x = random_floats(random, {1, 2, 5, 5}), k = random_floats(random, {2, 2, 3, 3});
  const auto refused = [&](const char* op, const std::vector<tensor>& in, const attributes& a) {
    CHECK_THROWS_AS(run(op, in, a), model_error);
  };
  refused("Conv", {x, k}, {{"strides", shape{0, 1}}});
  refused("Conv", {x, k}, {{"pads", shape{1, 1}}});
  refused("Conv", {x, k}, {{"dilations", shape{9, 9}}});
  refused("Conv", {x, k}, {{"group", int64_t{3}}});
  refused("Conv", {x, k}, {{"kernel_shape", shape{5, 5}}});
  refused("Conv", {x, k}, {{"auto_pad", std::string{"SOMEHOW"}}});
  refused("MaxPool", {x}, {});
  refused("MaxPool", {x}, {{"kernel_shape", shape{6, 6}}});
  refused("AveragePool", {x}, {{"kernel_shape", shape{1, 1}}, {"pads", shape{1, 1, 1, 1}}});
}

TEST_CASE("a pool over constants with too many operations is refused, not folded") {
  const attributes huge{{"kernel_shape", shape{100'000, 1}},
                        {"pads", shape{99'999, 0, 99'999, 0}},
                        {"ceil_mode", int64_t{1}},
                        {"count_include_pad", int64_t{1}}};
  const auto x = floats({1, 1, 200'000, 1}, std::vector<float>(200'000, 1));
  CHECK_THROWS_WITH_AS(fold("AveragePool", {x}, huge), doctest::Contains("operations on constants alone"),
                       model_error);
}

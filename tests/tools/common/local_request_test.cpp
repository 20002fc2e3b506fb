#include "tools/common/local_request.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "messages/tensor/shaped_tensors.hpp"

using namespace troupe;

namespace {

/// Answers with the bytes of its first input; in its shape if it is shaped.
class echo_model final : public batch_model {
 public:
  explicit echo_model(model_signature s) : signature_(std::move(s)) {}
  const model_signature& signature() const override { return signature_; }
  uint64_t memory_bytes() const override { return 0; }
  uint32_t layers() const override { return 1; }
  void warm(uint32_t) override {}
  bool run(uint32_t rows, std::span<const batch_part> parts, const std::atomic<bool>*) override {
    ran = rows;
    const auto& part = parts.front();
    if (part.shaped_output == nullptr) {
      std::ranges::copy(part.input.first(part.output.size()), part.output.begin());
      return true;
    }
    const auto given = read_shapes(signature_.inputs, part.input).value();
    auto output = signature_.outputs;
    output[0].shape = given.tensors[0].shape;
    part.shaped_output->resize(shapes_bytes(output) + values_bytes(output).value());
    auto rest = write_shapes(output, *part.shaped_output);
    std::ranges::copy(given.values.first(rest.size()), rest.begin());
    return true;
  }

  uint32_t ran = 0;

 private:
  model_signature signature_;
};

model_signature signature(std::vector<int64_t> in, std::vector<int64_t> out, bool batched) {
  return {{{"x", data_type::fp32, std::move(in)}}, {{"y", data_type::fp32, std::move(out)}}, batched};
}

std::vector<std::byte> bytes(size_t n) {
  std::vector<std::byte> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<std::byte>(i);
  return out;
}

std::vector<int64_t> shape_of(const local_request& r) { return r.outputs().front().shape; }

}  // namespace

TEST_CASE("local request: a batch has as many rows as its bytes") {
  const auto s = signature({2}, {2}, true);
  CHECK(has_rows(s));
  CHECK(request_rows(s, 24) == 3);
  CHECK_FALSE(request_rows(s, 25));
  CHECK_FALSE(request_rows(s, 0));
  CHECK(request_inputs(s, 3)[0].shape == std::vector<int64_t>{3, 2});
  echo_model model(s);
  const auto values = bytes(24);
  local_request r(model, 3, values);
  r.run();
  CHECK(model.ran == 3);
  CHECK(shape_of(r) == std::vector<int64_t>{3, 2});
  CHECK(std::ranges::equal(r.values(), values));
}

TEST_CASE("local request: a whole request has exactly the bytes of its shapes") {
  const auto s = signature({3, 2}, {3, 2}, false);
  CHECK_FALSE(has_rows(s));
  CHECK(request_rows(s, 24) == 1);
  CHECK_FALSE(request_rows(s, 48));
  CHECK(request_rows(signature({}, {}, false), 4) == 1);
  echo_model model(s);
  const auto values = bytes(24);
  local_request r(model, 1, values);
  r.run();
  CHECK(model.ran == 1);
  CHECK(shape_of(r) == std::vector<int64_t>{3, 2});
  CHECK(std::ranges::equal(r.values(), values));
}

TEST_CASE("local request: a free first dimension follows the bytes, beside inputs that have none") {
  auto s = signature({-1, 2}, {-1, 2}, false);
  s.inputs.push_back({"scale", data_type::fp64, {}});
  CHECK(has_rows(s));
  CHECK(request_bytes(s, 3) == 32);
  CHECK(request_rows(s, 32) == 3);
  CHECK_FALSE(request_rows(s, 8));
  CHECK_FALSE(request_rows(s, 36));
  echo_model model(s);
  const auto values = bytes(32);
  local_request r(model, 3, values);
  for (int i = 0; i < 2; ++i) {
    r.run();
    CHECK(model.ran == 1);
    CHECK(shape_of(r) == std::vector<int64_t>{3, 2});
    CHECK(std::ranges::equal(r.values(), std::span(values).first(24)));
  }
}

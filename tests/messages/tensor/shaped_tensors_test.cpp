#include "messages/tensor/shaped_tensors.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

const std::vector<tensor_spec> declared{{"x", data_type::fp32, {-1, 3}}, {"n", data_type::uint8, {}}};

/// x [rows, 3] and n, with zeros as values.
std::vector<std::byte> written(int64_t rows, size_t values) {
  auto tensors = declared;
  tensors[0].shape[0] = rows;
  std::vector<std::byte> out(shapes_bytes(tensors) + values);
  CHECK(write_shapes(tensors, out).size() == values);
  return out;
}

}  // namespace

TEST_CASE("shaped_tensors: the shapes that are written are read again, and the values follow them") {
  const auto bytes = written(2, 25);
  CHECK(shapes_bytes(declared) == 8 * 4);
  const auto read = read_shapes(declared, bytes);
  REQUIRE(read);
  CHECK(read->tensors[0].name == "x");
  CHECK(read->tensors[0].shape == std::vector<int64_t>{2, 3});
  CHECK(read->tensors[1].shape.empty());
  CHECK(read->values.size() == 25);
  CHECK(read->values.data() == bytes.data() + 32);
}

TEST_CASE("shaped_tensors: a tensor may have no element") {
  const auto read = read_shapes(declared, written(0, 1));
  REQUIRE(read);
  CHECK(read->tensors[0].shape == std::vector<int64_t>{0, 3});
}

TEST_CASE("shaped_tensors: bytes that are no such tensors are refused") {
  CHECK_FALSE(read_shapes(declared, written(2, 24)));
  CHECK_FALSE(read_shapes(declared, written(2, 26)));
  CHECK_FALSE(read_shapes(declared, written(-1, 1)));
  CHECK_FALSE(read_shapes(declared, written(int64_t{1} << 62, 1)));
  const auto whole = written(2, 25);
  CHECK_FALSE(read_shapes(declared, std::span(whole).first(31)));
  CHECK_FALSE(read_shapes(declared, {}));
  const std::vector<tensor_spec> of_four{{"x", data_type::fp32, {-1, 4}}, declared[1]};
  CHECK_FALSE(read_shapes(of_four, written(2, 25)));
  const std::vector<tensor_spec> flat{{"x", data_type::fp32, {-1}}, declared[1]};
  CHECK_FALSE(read_shapes(flat, written(2, 25)));
}

TEST_CASE("shaped_tensors: a class is the shapes without their first dimensions") {
  bool with_rows = false;
  const auto class_of = [&](std::vector<std::vector<int64_t>> shapes) {
    std::vector<tensor_spec> tensors;
    for (auto& s : shapes) tensors.push_back({"x", data_type::fp32, std::move(s)});
    return shape_class_of(tensors, with_rows);
  };
  CHECK(class_of({{1, 3, 4}, {1}}) == class_of({{7, 3, 4}, {7}}));
  CHECK(class_of({{1, 3, 4}}) != class_of({{1, 4, 3}}));
  CHECK(class_of({{1, 3}, {1, 4}}) != class_of({{1, 4}, {1, 3}}));
  CHECK(class_of({{1, 3}, {1}}) != class_of({{1}, {1, 3}}));
  CHECK(class_of({{}}) != 0);
  with_rows = true;
  CHECK(class_of({{1, 3, 4}}) != class_of({{7, 3, 4}}));
}

TEST_CASE("shaped_tensors: requests run together if their shapes agree except for the rows of all tensors") {
  const auto request = [](std::vector<std::vector<int64_t>> shapes) {
    shaped_tensors out;
    for (auto& s : shapes) out.tensors.push_back({"x", data_type::fp32, std::move(s)});
    return out;
  };
  const std::vector<shaped_tensors> all{
      request({{1, 3}, {1}}), request({{1, 4}, {1}}),
      request({{2, 3}, {2}}), request({{2, 3}, {1}}),  // not the same number of rows
      request({{}, {1}}),                              // a scalar
      request({{5, 4}, {5}})};
  using groups = std::vector<std::vector<size_t>>;
  CHECK(equal_rows(all, true) == groups{{0, 2}, {1, 5}, {3}, {4}});
  CHECK(equal_rows(all, false) == groups{{0}, {1}, {2}, {3}, {4}, {5}});
  CHECK(total_rows(all, std::vector<size_t>{0, 2}) == 3);
}

TEST_CASE("shaped_tensors: sizes that no memory holds are none") {
  const auto bytes = [](std::vector<int64_t> shape) {
    const tensor_spec t{"x", data_type::fp32, std::move(shape)};
    return values_bytes({&t, 1});
  };
  CHECK(bytes({2, 3}) == 24);
  CHECK_FALSE(bytes({4611686018427387905}));
  CHECK_FALSE(bytes({4294967296, 1073741824}));
  CHECK_FALSE(bytes({2, -1}));
  CHECK(elements({"x", data_type::fp32, {4294967296, 4294967296}}) == INT64_MAX);
  CHECK(row_bytes({"x", data_type::fp32, {4611686018427387905}}) == UINT64_MAX);
}

TEST_CASE("shaped_tensors: a shape fits if it has the dimensions that are not free") {
  const std::vector<int64_t> row{7, 3}, other{7, 4}, flat{3};
  CHECK(fits(declared[0], row));
  CHECK_FALSE(fits(declared[0], other));
  CHECK_FALSE(fits(declared[0], flat));
  CHECK(fits(declared[1], {}));
}

TEST_CASE("shaped_tensors: a signature with a free dimension has no size of its own") {
  const model_signature open{.inputs = declared, .outputs = {{"y", data_type::fp32, {4}}}};
  CHECK(has_free_dimension(open));
  CHECK(elements(declared[0]) == 0);
  CHECK(input_row_bytes(open) == 1);
  CHECK_FALSE(has_free_dimension(model_signature{.inputs = {declared[1]}, .outputs = open.outputs}));
}

// Chains as they grow, and their kernel arguments.
#include "gpu/onnx/cuda/pointwise_draft.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/onnx/cuda/programs.hpp"
#include "tests/gpu/onnx/graphs.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// out = a + b, as a step.
pointwise_step sum(program_by_hand& h, const device_value& a, const device_value& b, const device_value& out,
                   calculated_in numbers = calculated_in::f32) {
  pointwise_draft d(out.dims, numbers, a);
  d.then(pointwise_op::add, b);
  return d.into(h.builder, out);
}

}  // namespace

TEST_CASE("pointwise draft: a value is one operand for any number of uses, and another for another view") {
  program_by_hand h;
  const auto a = h.make({3, 4}), b = h.make({3, 4});
  pointwise_draft d({3, 4}, calculated_in::f32, a);
  CHECK(d.operand(a) == 0);
  CHECK(d.operand(b) == 1);
  CHECK(d.operand(a) == 0);
  auto seen = a;
  seen.dims = {1, 4};  // its first row, repeated
  CHECK(d.operand(seen) == 2);
  seen = a;
  seen.strides = {1, 3};
  CHECK(d.operand(seen) == 3);
  CHECK(d.operand(b) == 1);
}

TEST_CASE("pointwise draft: the same index in another memory or layer is another operand") {
  program_by_hand h;
  auto v = h.make({4});
  pointwise_draft d({4}, calculated_in::f32, v);
  v.where.where = place::in::parameter;
  CHECK(d.operand(v) == 1);
  v.where.layer = 1;
  CHECK(d.operand(v) == 2);
  v.where.index += 1;
  CHECK(d.operand(v) == 3);
}

TEST_CASE("pointwise draft: operands and instructions are limited to those of a chain") {
  program_by_hand h;
  pointwise_draft d({4}, calculated_in::f32, h.make({4}));
  CHECK(d.has_room(7));
  CHECK_FALSE(d.has_room(8));
  for (uint32_t i = 1; i < pointwise_chain::max_operands; ++i) d.then(pointwise_op::add, h.make({4}));
  CHECK(d.has_room(0));
  CHECK_FALSE(d.has_room(1));
  CHECK(d.has_room(0, 9));
  CHECK_FALSE(d.has_room(0, 10));
  while (d.has_room(0)) d.then({pointwise_op::relu});
  CHECK(d.into(h.builder, h.make({4})).chain.instructions == pointwise_chain::max_instructions);
}

TEST_CASE("pointwise draft: the result has the layout of the first operand of its size") {
  program_by_hand h;
  const onnx::shape dims{2, 3, 4, 5};
  const auto along = h.make({3, 1, 1});
  CHECK(pointwise_draft(dims, calculated_in::f32, along).result_strides() == onnx::strides_of(dims));
  pointwise_draft d(dims, calculated_in::f32, along);
  d.then(pointwise_op::multiply, h.channels_last(dims));
  CHECK(d.result_strides() == channels_last_strides(dims));
  d.then(pointwise_op::add, h.make(dims));
  CHECK(d.result_strides() == channels_last_strides(dims));
}

TEST_CASE("pointwise draft: the result is dense, even if the operand of its layout is not") {
  program_by_hand h;
  auto cut = h.make({3, 4});
  cut.strides = {10, 1};
  CHECK(pointwise_draft({3, 4}, calculated_in::f32, cut).result_strides() == onnx::shape{4, 1});
  cut.strides = {1, 10};
  CHECK(pointwise_draft({3, 4}, calculated_in::f32, cut).result_strides() == onnx::shape{1, 3});
}

TEST_CASE("pointwise draft: a chain iterates in the memory order of its result") {
  program_by_hand h;
  const onnx::shape dims{2, 3, 4, 5};
  const auto s = sum(h, h.make(dims), h.channels_last(dims), h.channels_last(dims));
  REQUIRE(s.chain.walk.dims == 3);  // 2, 4 · 5, 3
  CHECK(s.chain.walk.extent[1] == 20);
  CHECK(s.chain.walk.extent[2] == 3);
  CHECK(s.chain.in[0].steps.step[1] == 1);
  CHECK(s.chain.in[0].steps.step[2] == 20);
  CHECK(s.chain.in[1].steps.step[1] == 3);
  CHECK(s.chain.in[1].steps.step[2] == 1);
  CHECK(s.chain.count == 120);
}

TEST_CASE("pointwise draft: the width is four for f32, contiguous numbers and a multiple of four") {
  program_by_hand h;
  const auto width = [&](const onnx::shape& dims, calculated_in numbers = calculated_in::f32) {
    return sum(h, h.make(dims), h.make(dims), h.make(dims), numbers).width;
  };
  CHECK(width({4}) == 4);
  CHECK(width({2, 6}) == 4);  // one dimension of 12
  CHECK(width({6}) == 1);
  CHECK(width({1}) == 1);
  CHECK(width({}) == 1);
  CHECK(width({4}, calculated_in::f64) == 1);
  CHECK(width({4}, calculated_in::i64) == 1);
  CHECK(sum(h, h.make({3, 4}), h.make({3, 1}), h.make({3, 4})).width == 4);
  CHECK(sum(h, h.make({4, 3}), h.make({3}), h.make({4, 3})).width == 1);
  auto turned = h.make({8, 4});
  turned.strides = {1, 8};
  CHECK(sum(h, h.make({8, 4}), turned, h.make({8, 4})).width == 1);
}

TEST_CASE("pointwise draft: an operand is read in words of four if it is f32, contiguous and aligned") {
  program_by_hand h;
  const auto out = h.make({3, 8});
  const auto wide = [&](const device_value& v) { return sum(h, out, v, out).chain.in[1].wide; };
  CHECK(wide(h.make({3, 8})));
  CHECK(wide(h.make({8})));           // the same eight for each row
  CHECK_FALSE(wide(h.make({3, 1})));  // one number for each row
  CHECK_FALSE(wide(h.make({})));
  CHECK_FALSE(wide(h.make({3, 8}, data_type::fp16)));
  auto apart = h.make({3, 8});
  apart.strides = {10, 1};
  CHECK_FALSE(wide(apart));
  apart.strides = {12, 1};
  CHECK(wide(apart));
}

TEST_CASE("pointwise draft: a step has the types, places and fault of its chain") {
  program_by_hand h;
  const auto a = h.make({4}, data_type::int32), b = h.make({4}, data_type::int32);
  const auto out = h.make({4}, data_type::int32);
  pointwise_draft d({4}, calculated_in::i64, a);
  d.then(pointwise_op::divide, b);
  CHECK(d.into(h.builder, out).fault == no_fault);
  d.may_fail(3);
  const auto s = d.into(h.builder, out);
  CHECK(s.fault == 3);
  CHECK(s.numbers == calculated_in::i64);
  CHECK(s.chain.type == data_type::int32);
  REQUIRE(s.chain.operands == 2);
  CHECK(s.chain.in[1].type == data_type::int32);
  REQUIRE(s.in.size() == 2);
  CHECK(s.in[0].index == a.where.index);
  CHECK(s.in[1].index == b.where.index);
  CHECK(s.out.index == out.where.index);
  REQUIRE(s.chain.instructions == 1);
  CHECK(s.chain.instruction[0].op == pointwise_op::divide);
  CHECK(s.chain.instruction[0].a == 1);
}

#include "gpu/onnx/batch_parts.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "gpu/common/model_error.hpp"

using namespace troupe;
using namespace troupe::onnx;

namespace {

/// An input row has two bytes and one, an output row one and three.
model_signature signature() {
  return {{{"a", data_type::uint8, {2}}, {"b", data_type::uint8, {}}},
          {{"y", data_type::uint8, {}}, {"z", data_type::uint8, {3}}}};
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span{text}); }
std::span<std::byte> room(std::string& text) { return std::as_writable_bytes(std::span{text}); }

}  // namespace

TEST_CASE("batch parts: each tensor gets the rows of all parts, in their order") {
  const batch_part parts[] = {{1, bytes("aAb"), {}}, {0, {}, {}}, {2, bytes("cCdDef"), {}}};
  std::string a(6, '-'), b(3, '-');
  gather_inputs(signature(), parts, [&](size_t i) { return room(i == 0 ? a : b).data(); });
  CHECK(a == "aAcCdD");
  CHECK(b == "bef");
}

TEST_CASE("batch parts: each part gets its rows of all tensors") {
  const std::string y = "pqr", z = "123456789";
  std::string first(4, '-'), second(8, '-');
  const batch_part parts[] = {{1, {}, room(first)}, {2, {}, room(second)}};
  scatter_outputs(
      signature(), [&](size_t i) { return bytes(i == 0 ? y : z).data(); }, parts);
  CHECK(first == "p123");
  CHECK(second == "qr456789");
}

TEST_CASE("batch parts: rows and bytes must match the signature") {
  std::string out(8, '-');
  const auto check = [&](uint32_t rows, std::vector<batch_part> parts) {
    check_parts(signature(), "m.onnx", rows, parts);
  };
  const batch_part one{1, bytes("aAb"), room(out).first(4)}, two{2, bytes("cCdDef"), room(out)};
  check(1, {one});
  check(3, {one, two});
  CHECK_THROWS_WITH_AS(check(1, {{1, bytes("aA"), room(out).first(4)}}),
                       "m.onnx: 1 rows need 3 bytes of input and 4 of output, got 2 and 4", model_error);
  CHECK_THROWS_WITH_AS(check(3, {one, {2, bytes("cCdDef"), room(out).first(7)}}),
                       "m.onnx: 2 rows need 6 bytes of input and 8 of output, got 6 and 7", model_error);
  CHECK_THROWS_WITH_AS(check(4, {one, two}), "a batch of 4 rows has parts of 3", model_error);
  CHECK_THROWS_WITH_AS(check(1, {}), "a batch of 1 rows has parts of 0", model_error);
  CHECK_THROWS_AS(check(0, {}), model_error);
}

TEST_CASE("batch parts: the sum of rows may exceed 32 bits") {
  const model_signature nothing{{{"a", data_type::uint8, {0}}}, {}};
  const batch_part max{UINT32_MAX, {}, {}}, parts[] = {max, {2, {}, {}}};
  CHECK_THROWS_WITH_AS(check_parts(nothing, "m.onnx", 1, parts), "a batch of 1 rows has parts of 4294967297",
                       model_error);
}

// Gather: slices of the first input along an axis, picked by the indices in the second.
#include <fmt/format.h>

#include <cstring>

#include "gpu/common/model_error.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_gather(plan_builder& b) {
  const auto &data = b.plain(0), &indices = b.plain(1);
  if (indices.type != data_type::int64 && indices.type != data_type::int32)
    b.fail("indices are INT64 or INT32");
  const auto axis = static_cast<size_t>(b.axis(b.integer("axis", 0), data.dims.size()));
  const auto middle = data.dims.begin() + static_cast<ptrdiff_t>(axis);
  const int64_t outer = element_count({data.dims.begin(), middle});
  const int64_t bound = data.dims[axis];
  const int64_t inner = element_count({middle + 1, data.dims.end()});
  const shape out_dims =
      joined(joined({data.dims.begin(), middle}, indices.dims), {middle + 1, data.dims.end()});

  const auto slice = static_cast<size_t>(inner) * size_of(data.type);
  const auto& out = b.output(0, data.type, out_dims);
  if (out.elements() == 0) return;
  const auto where = describe(b.current());
  b.emit([from = data.data, picks = indices.data, to = out.data, outer, bound, slice, where,
          wide = indices.type == data_type::int64, count = indices.elements()] {
    std::byte* target = *to;
    for (int64_t o = 0; o < outer; ++o) {
      const std::byte* block = *from + static_cast<size_t>(o * bound) * slice;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t given =
            wide ? reinterpret_cast<const int64_t*>(*picks)[i] : reinterpret_cast<const int32_t*>(*picks)[i];
        if (given < -bound || given >= bound) {
          throw model_error(fmt::format("{}: index {} is not in -{}..{}", where, given, bound, bound - 1));
        }
        std::memcpy(target, block + static_cast<size_t>(given < 0 ? given + bound : given) * slice, slice);
        target += slice;
      }
    }
  });
}

}  // namespace troupe::onnx

#include "gpu/openvino/element_type.hpp"

namespace troupe::vino {

std::optional<data_type> data_type_of(const ov::element::Type& type) {
  using enum data_type;
  switch (static_cast<ov::element::Type_t>(type)) {
    case ov::element::Type_t::boolean: return boolean;
    case ov::element::Type_t::u8: return uint8;
    case ov::element::Type_t::u16: return uint16;
    case ov::element::Type_t::u32: return uint32;
    case ov::element::Type_t::u64: return uint64;
    case ov::element::Type_t::i8: return int8;
    case ov::element::Type_t::i16: return int16;
    case ov::element::Type_t::i32: return int32;
    case ov::element::Type_t::i64: return int64;
    case ov::element::Type_t::f16: return fp16;
    case ov::element::Type_t::bf16: return bf16;
    case ov::element::Type_t::f32: return fp32;
    case ov::element::Type_t::f64: return fp64;
    default: return {};
  }
}

}  // namespace troupe::vino

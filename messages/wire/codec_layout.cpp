#include "messages/wire/codec_layout.hpp"

#include <cctype>

namespace troupe::detail {
namespace {

/// "exec_at", "BatchOrder", "execAt", "FP32" → "execat", "batchorder", "execat", "fp32"
std::string bare(std::string_view name) {
  std::string out;
  for (char c : name)
    if (c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

void check(capnp::Type type, const field_form& form, std::string at) {
  if (form.list) {
    if (!type.isList()) throw codec_error(at + ": C++ and schema types differ");
    type = type.asList().getElementType();
    at += "[]";
  }
  if (type.which() != form.kind) throw codec_error(at + ": C++ and schema types differ");
  if (type.isStruct() && capnp::Schema(type.asStruct()) != form.part)
    throw codec_error(at + ": another struct in the schema");
  if (type.isEnum()) {
    const auto names = type.asEnum().getEnumerants();
    if (names.size() != form.enumerants)
      throw codec_error(at + ": C++ and schema enumerants differ in number");
    for (unsigned k = 0; k < names.size(); ++k)
      if (bare(names[k].getProto().getName().cStr()) != bare(form.enumerant(k)))
        throw codec_error(at + ": enumerant " + std::to_string(k) + " differs");
  }
}

uint32_t bind_field(capnp::StructSchema schema, const std::string& type, const field_form& form) {
  const std::string at = type + "." + std::string(form.name);
  for (auto f : schema.getFields()) {
    const auto proto = f.getProto();
    if (bare(proto.getName().cStr()) != bare(form.name)) continue;
    if (!proto.isSlot() || proto.getDiscriminantValue() != capnp::schema::Field::NO_DISCRIMINANT)
      throw codec_error(at + ": unions and groups are not plain fields");
    if (proto.getSlot().getHadExplicitDefault()) throw codec_error(at + ": schema gives a default value");
    check(f.getType(), form, at);
    // The schema gives offsets of numbers in multiples of their width.
    return proto.getSlot().getOffset() * (form.list ? 1 : form.width);
  }
  throw codec_error(at + ": not in the schema");
}

}  // namespace

bound_struct bind_fields(capnp::StructSchema schema, std::string_view type_name,
                         std::span<const field_form> fields, std::span<uint32_t> slots) {
  const std::string type = schema.getShortDisplayName().cStr();
  if (bare(type) != bare(type_name)) throw codec_error(type + ": C++ type is " + std::string(type_name));
  if (schema.getFields().size() != fields.size())
    throw codec_error(type + ": schema has " + std::to_string(schema.getFields().size()) +
                      " fields, C++ has " + std::to_string(fields.size()));
  for (size_t i = 0; i < fields.size(); ++i) slots[i] = bind_field(schema, type, fields[i]);
  const auto form = schema.getProto().getStruct();
  return {form.getDataWordCount(), form.getPointerCount()};
}

}  // namespace troupe::detail

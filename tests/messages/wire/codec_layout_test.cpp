#include "messages/wire/codec_layout.hpp"

#include <capnp/schema.capnp.h>
#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::detail;
using kind = capnp::schema::Type;

namespace {

/// Binds the fields to a struct of the schema as if they were those of `type_name`.
template <class Schema>
std::vector<uint32_t> slots_of(std::string_view type_name, const std::vector<field_form>& fields) {
  std::vector<uint32_t> slots(fields.size());
  bind_fields(capnp::Schema::from<Schema>(), type_name, fields, slots);
  return slots;
}

template <class Schema>
void check_refused(std::string_view type_name, const std::vector<field_form>& fields, const char* why) {
  CHECK_THROWS_WITH_AS(slots_of<Schema>(type_name, fields), why, codec_error);
}

// struct Ping { sentAt @0 :Int64; synchronised @1 :Bool; }
const field_form sent_at{.name = "sent_at", .kind = kind::INT64, .width = 8};
const field_form synchronised{.name = "synchronised", .kind = kind::BOOL};

// struct DroppedRequest { id @0 :UInt64; attempt @1 :UInt32; reason @2 :DropReason; }
std::vector<field_form> fields_of_dropped_request() {
  return {{.name = "id", .kind = kind::UINT64, .width = 8},
          {.name = "attempt", .kind = kind::UINT32, .width = 4},
          {.name = "reason",
           .kind = kind::ENUM,
           .width = 2,
           .enumerants = enum_count<drop_reason>,
           .enumerant = [](size_t k) -> std::string_view { return to_string(static_cast<drop_reason>(k)); }}};
}

// struct ModelSignature { inputs @0 :List(TensorSpec); outputs @1 :List(TensorSpec); batched @2 :Bool; }
field_form specs(std::string_view name, capnp::Schema part) {
  return {.name = name, .kind = kind::STRUCT, .list = true, .part = part};
}
const field_form batched{.name = "batched", .kind = kind::BOOL};

}  // namespace

TEST_CASE("codec layout: fields are found by name, in any order, where the schema has them") {
  CHECK(slots_of<schema::Ping>("ping", {sent_at, synchronised}) == std::vector<uint32_t>{0, 64});
  CHECK(slots_of<schema::Ping>("ping", {synchronised, sent_at}) == std::vector<uint32_t>{64, 0});
  CHECK(slots_of<schema::DroppedRequest>("dropped_request", fields_of_dropped_request()) ==
        std::vector<uint32_t>{0, 8, 12});
  // struct Address { node @0 :UInt32; incarnation @1 :UInt64; kind @2 :UInt16; index @3 :UInt32; }
  const auto& layout = codec_layout<address>::get();
  CHECK(std::vector<uint32_t>(layout.slot.begin(), layout.slot.end()) == std::vector<uint32_t>{0, 8, 4, 16});
  const auto spec = capnp::Schema::from<schema::TensorSpec>();
  CHECK(slots_of<schema::ModelSignature>("model_signature",
                                         {batched, specs("outputs", spec), specs("inputs", spec)}) ==
        std::vector<uint32_t>{0, 1, 0});
}

TEST_CASE("codec layout: a struct that is not its schema's is refused, by type or field") {
  check_refused<schema::Ping>("pong", {sent_at, synchronised}, "Ping: C++ type is pong");
  check_refused<schema::Ping>("ping", {sent_at}, "Ping: schema has 2 fields, C++ has 1");
  check_refused<schema::Ping>("ping", {sent_at, {.name = "synced", .kind = kind::BOOL}},
                              "Ping.synced: not in the schema");
}

TEST_CASE("codec layout: a field of another type, width or sign is refused") {
  const char* differs = "Ping.sent_at: C++ and schema types differ";
  for (const auto other : {kind::UINT64, kind::INT32, kind::FLOAT64, kind::TEXT})
    check_refused<schema::Ping>("ping", {{.name = "sent_at", .kind = other}, synchronised}, differs);
  check_refused<schema::Ping>(
      "ping", {{.name = "sent_at", .kind = kind::INT64, .list = true, .width = 8}, synchronised}, differs);

  const auto address = capnp::Schema::from<schema::Address>();
  const auto spec = capnp::Schema::from<schema::TensorSpec>();
  check_refused<schema::ModelSignature>(
      "model_signature",
      {{.name = "inputs", .kind = kind::STRUCT, .part = spec}, specs("outputs", spec), batched},
      "ModelSignature.inputs: C++ and schema types differ");
  check_refused<schema::ModelSignature>("model_signature",
                                        {specs("inputs", spec), specs("outputs", address), batched},
                                        "ModelSignature.outputs[]: another struct in the schema");
}

TEST_CASE("codec layout: an enumeration that lacks or renames one of the schema's is refused") {
  auto fields = fields_of_dropped_request();
  fields[2].enumerants -= 1;
  check_refused<schema::DroppedRequest>("dropped_request", fields,
                                        "DroppedRequest.reason: C++ and schema enumerants differ in number");
  fields = fields_of_dropped_request();
  fields[2].enumerant = [](size_t k) -> std::string_view {
    return k == 2 ? "dropped" : to_string(static_cast<drop_reason>(k));
  };
  check_refused<schema::DroppedRequest>("dropped_request", fields,
                                        "DroppedRequest.reason: enumerant 2 differs");
}

TEST_CASE("codec layout: unions and non-zero defaults are refused") {
  // Cap'n Proto's own description of a field has both
  std::vector<field_form> fields(7, {.name = "name", .kind = kind::TEXT});
  fields[0] = {.name = "slot", .kind = kind::STRUCT};
  check_refused<capnp::schema::Field>("field", fields, "Field.slot: unions and groups are not plain fields");
  fields[0] = {.name = "discriminant_value", .kind = kind::UINT16, .width = 2};
  check_refused<capnp::schema::Field>("field", fields,
                                      "Field.discriminant_value: schema gives a default value");
}

#include "messages/common/message.hpp"

#include <doctest/doctest.h>

#include "messages/wire/wire.hpp"

using namespace troupe;

TEST_CASE("a message has its name and the names of its fields") {
  CHECK(std::string_view(grant::type_name) == "grant");
  CHECK(grant::field_names.size() == 8);
  CHECK(grant::field_names[4] == "free_at");
  grant g;
  g.fields([](auto&, auto& second, auto&...) { second = 7; });
  CHECK(g.sequence == 7);
  CHECK(field_types<grant>::size == 8);
}

TEST_CASE("milliseconds become whole nanoseconds, rounded to nearest") {
  CHECK(from_ms(1.053) == 1053us);
  CHECK(from_ms(-0.5) == -500us);
  CHECK(to_ms(2500us) == doctest::Approx(2.5));
}

TEST_CASE("data types have the names and sizes of the V2 protocol") {
  for (size_t i = 0; i < data_type_count; ++i) {
    const auto t = static_cast<data_type>(i);
    data_type back{};
    CHECK(parse_data_type(to_string(t), back));
    CHECK(back == t);
  }
  CHECK(size_of(data_type::bf16) == 2);
  CHECK(size_of(data_type::bytes) == 0);  // every element has its own length
  CHECK(row_bytes({"x", data_type::fp32, {3, 32, 32}}) == 12288);
}

#include "messages/wire/shift_times.hpp"

TEST_CASE("shifting moves every time in a message, at any depth, but not never and long ago") {
  batch_order order;
  order.exec_at = time_point{5s};
  order.start_by = never;
  order.requests.resize(2);
  order.requests[1].deadline = time_point{7s};
  order.requests[1].arrival = long_ago;
  shift_times(order, -2s);
  CHECK(order.exec_at == time_point{3s});
  CHECK(order.start_by == never);
  CHECK(order.requests[1].deadline == time_point{5s});
  CHECK(order.requests[1].arrival == long_ago);
  order.exec_at = long_ago + 1ns;  // not a time of a clock: unchanged, without overflow
  shift_times(order, -2s);
  CHECK(order.exec_at == long_ago + 1ns);
  CHECK(has_times<submit>);
  CHECK(has_times<completion>);
  CHECK_FALSE(has_times<release>);
}

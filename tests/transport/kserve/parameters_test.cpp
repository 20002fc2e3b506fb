#include "transport/kserve/parameters.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;
using namespace troupe::kserve;

namespace {

/// The problem; empty: none.
template <class F>
std::string why_refused(F f, unsigned status = 400) {
  try {
    f();
    return {};
  } catch (const http_error& e) {
    CHECK(e.status == status);
    return e.message;
  }
}

}  // namespace

TEST_CASE("kserve parameters: a number has no other characters around it, and is within its type") {
  CHECK(whole<int64_t>("-12") == -12);
  CHECK(whole<uint64_t>("18446744073709551615") == UINT64_MAX);
  CHECK(whole<double>("2.5e3") == 2500);
  for (const auto* text : {"", "x", "1x", "1 ", " 1", "1.5", "18446744073709551616", "-1"})
    CHECK_FALSE(whole<uint64_t>(text));
}

TEST_CASE("kserve parameters: a key that is known occurs once") {
  known_keys keys("inputs[2]: ");
  bool name = false, shape = false;
  keys.once(name, "name");
  keys.once(shape, "shape");
  CHECK(name);
  CHECK(why_refused([&] { keys.once(name, "name"); }) == "inputs[2]: key \"name\" occurs twice");
}

TEST_CASE("kserve parameters: each is passed on as written, shared memory is refused") {
  const auto read = [](std::string_view text) {
    json_reader in(text);
    parameter_reader parameters(in, "inputs[0]: ");
    std::vector<std::pair<std::string, std::string>> all;
    parameters.read([&](const std::string& key, std::string_view value) { all.emplace_back(key, value); });
    return all;
  };
  CHECK(read("{}").empty());
  CHECK(read(R"({"a": 1, "b": {"c": [true]}})") ==
        std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"b", R"({"c": [true]})"}});
  CHECK(why_refused([&] { read(R"({"shared_memory_offset": 1})"); }, 501) ==
        "inputs[0]: parameters.shared_memory_offset: shared memory is not supported; send the data in the "
        "body");
  CHECK(why_refused([&] { read("[1]"); }) ==
        R"(malformed JSON at byte 0: expected an object under "parameters", found "[1]")");
}

TEST_CASE("kserve parameters: a value that is not of its kind is refused with what it must be") {
  json_reader in("");
  const parameter_reader parameters(in, "outputs[1]: ");
  CHECK(parameters.boolean("binary_data", "true"));
  CHECK_FALSE(parameters.boolean("binary_data", "false"));
  CHECK(why_refused([&] { parameters.boolean("binary_data", "1"); }) ==
        R"(outputs[1]: parameters.binary_data is "1"; it must be true or false)");
  CHECK(parameters.number<uint32_t>("classification", "3", "classes") == 3);
  CHECK(why_refused([&] { parameters.number<uint32_t>("classification", "-3", "classes"); }) ==
        R"(outputs[1]: parameters.classification is "-3"; it must be a whole number of classes)");
}

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

/// The message of the refusal.
std::string refusal(std::string_view json) {
  try {
    return "no refusal, but " + model_text_of_json(json, "m");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
}

model_reading read_json(std::string_view json) {
  const auto c = read(good_cluster);
  return read_model_text(model_text_of_json(json, "given"), "request", c.spec, ".");
}

/// Bytes of files read by this process so far.
long bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string key;
  long value = 0;
  io >> key >> value;
  REQUIRE(key == "rchar:");
  return value;
}

}  // namespace

TEST_CASE("a model definition in JSON and in TOML gives the same model") {
  const auto m =
      read_json(R"({"slo_ms": 20.5, "max_batch": 8, "profile": {"alpha_ms": 1, "beta_ms": 5}, "weight": 2})");
  REQUIRE(listed(m.problems) == "");
  CHECK(m.spec.name == "given");
  CHECK(m.spec.slo == 20500us);
  CHECK(m.spec.max_batch == 8);
  CHECK(m.spec.latency == latency_model{1ms, 5ms});
  CHECK(read_json(R"({"name": "own", "slo_ms": 20, "profile": {"alpha_ms": 1, "beta_ms": 5}})").spec.name ==
        "own");
}

TEST_CASE("a string from JSON keeps all of its characters") {
  const auto m =
      read_json(R"({"name": "a\"b\n[[node]]", "slo_ms": 20, "profile": {"alpha_ms": 1, "beta_ms": 5}})");
  CHECK(listed(m.problems) ==
        "request:1:8: name: must be a name of up to 64 letters, digits, '_', '-' and '.', "
        R"(not "a\"b\n[[node]]")"
        "\n");
}

TEST_CASE("an invalid model definition is refused with its key") {
  const auto* no_object = "must be a JSON object with the keys of a [[model]] table";
  for (const auto* json : {"", "[]", "null", "7", "{", R"({"name": "m"} x)"}) {
    CAPTURE(std::string{json});
    CHECK(refusal(json) == no_object);
  }
  const std::string top = ": must be a string, a number, true, false or an object";
  CHECK(refusal(R"({"slo_ms": null})") == "slo_ms" + top);
  CHECK(refusal(R"({"inputs": [1, 2]})") == "inputs" + top);
  CHECK(refusal(R"({"profile": {"alpha_ms": null}})") ==
        "profile.alpha_ms: must be a string, a number, an array of numbers, true or false");
  CHECK(refusal(R"({"preprocess": {"mean": [1, [2]]}})") == "preprocess.mean: must hold numbers only");
}

TEST_CASE("deeply nested JSON is refused without a crash") {
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += R"({"a":)";
  deep += '1' + std::string(200'000, '}');
  CHECK(refusal(deep) == "a.a: must be a string, a number, an array of numbers, true or false");
}

TEST_CASE("invalid values of a model are problems of the definition") {
  const auto said = [](std::string_view json) { return listed(read_json(json).problems); };
  CHECK(said(R"({"slo_ms": "soon", "profile": {"alpha_ms": 1, "beta_ms": 5}})").find("slo_ms: must be") !=
        std::string::npos);
  CHECK(said(R"({"slo_ms": 20, "profile": {"alpha_ms": 1, "beta_ms": 5}, "max_batch": 18446744073709551615})")
            .find("max_batch: must be") != std::string::npos);
  CHECK(said(R"({"slo": 20, "slo_ms": 20, "profile": {"alpha_ms": 1, "beta_ms": 5}})")
            .find("unknown key 'slo'") != std::string::npos);
}

TEST_CASE("weights of a definition are checked but not read, because a running node waits") {
  const auto weights =
      std::filesystem::temp_directory_path() / ("troupe_weights_" + std::to_string(getpid()));
  std::ofstream(weights) << "weights";
  std::filesystem::resize_file(weights, 64 << 20);
  const auto json =
      R"({"slo_ms": 20, "profile": {"alpha_ms": 1, "beta_ms": 5}, "source": ")" + weights.string() + R"("})";
  const auto before = bytes_read();
  CHECK(read_json(json).spec.path == weights);
  CHECK(bytes_read() - before < 1 << 20);
  std::filesystem::remove(weights);
  CHECK(listed(read_json(json).problems).find("cannot be read: No such file") != std::string::npos);
}

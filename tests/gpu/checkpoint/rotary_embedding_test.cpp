// Expected numbers are from fixture_numbers.py: the formulas in double precision.
#include "gpu/checkpoint/rotary_embedding.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;

namespace {

std::vector<float> frequencies_of(std::string_view config, uint32_t head_dim, uint32_t max_positions = 64) {
  const std::string file = "f";
  const auto document = parse_object(config, file);
  return read_rotary_embedding(json_object(document, file),
                               {.head_dim = head_dim, .max_positions = max_positions})
      .frequencies;
}

/// Of a family that rotates parts of heads, and scales by LongRoPE.
rotary_embedding of_phi(std::string_view config, uint32_t head_dim, uint32_t max_positions = 64) {
  const std::string file = "f";
  const auto document = parse_object(config, file);
  return read_rotary_embedding(
      json_object(document, file),
      {.head_dim = head_dim, .max_positions = max_positions, .partial = true, .longrope_context = 4096});
}

std::string refused_rope(std::string_view config) {
  return error_of([&] { frequencies_of(config, 8); });
}

void check_close(const std::vector<float>& is, const std::vector<double>& should) {
  REQUIRE(is.size() == should.size());
  for (size_t i = 0; i < is.size(); ++i) CHECK(is[i] == doctest::Approx(should[i]).epsilon(1e-6));
}

const std::vector<double> llama3{1.0,
                                 0.0794030091792082,
                                 0.004700753866357992,
                                 0.0009115830921521387,
                                 0.00017677669529663688,
                                 3.428102195952591e-05,
                                 6.647869871181235e-06,
                                 1.2891731721515574e-06};

}  // namespace

TEST_CASE("without scaling the frequencies fall from 1 by powers of theta") {
  const std::vector<double> of_10000{1, 0.1, 0.01, 0.001};
  check_close(frequencies_of("{}", 8), of_10000);
  check_close(frequencies_of(R"({"rope_theta": 10000, "rope_scaling": null})", 8), of_10000);
  check_close(frequencies_of(R"({"rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})", 8),
              of_10000);
  check_close(frequencies_of(R"({"rope_theta": 81})", 8), {1, 1.0 / 3, 1.0 / 9, 1.0 / 27});
  check_close(frequencies_of(R"({"rope_theta": 5, "rope_parameters": {"rope_theta": 81}})", 8),
              {1, 1.0 / 3, 1.0 / 9, 1.0 / 27});
}

TEST_CASE("linear scaling divides every frequency, under its old and its new name") {
  const std::vector<double> quarter{0.25, 0.025, 0.0025, 0.00025};
  check_close(frequencies_of(R"({"rope_scaling": {"type": "linear", "factor": 4.0}})", 8), quarter);
  check_close(frequencies_of(R"({"rope_scaling": {"rope_type": "linear", "factor": 4}})", 8), quarter);
  check_close(
      frequencies_of(R"({"rope_parameters": {"rope_type": "linear", "factor": 4, "rope_theta": 10000}})", 8),
      quarter);
}

TEST_CASE("llama3 scaling keeps short waves, stretches long ones and interpolates those between") {
  check_close(
      frequencies_of(R"({"rope_parameters": {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                       "original_max_position_embeddings": 64, "rope_theta": 500000.0, "rope_type": "llama3"}})",
                     16, 512),
      llama3);
  const auto llama31 =
      frequencies_of(R"({"rope_theta": 500000.0, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
                      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}})",
                     128, 131072);
  REQUIRE(llama31.size() == 64);
  check_close({llama31[0], llama31[1], llama31[28], llama31[32], llama31[35], llama31[40], llama31[63]},
              {1.0, 0.8146172338565447, 0.003211445994752591, 0.0005248461609929547, 9.556212353964683e-05,
               3.428102195952591e-05, 3.068925988914511e-07});
}

TEST_CASE("original_max_position_embeddings of llama3 scaling may be outside of it or absent") {
  const std::string rope = R"("rope_theta": 500000, "rope_scaling": {"factor": 8, "low_freq_factor": 1,
                              "high_freq_factor": 4, "rope_type": "llama3")";
  check_close(frequencies_of("{" + rope + "}}", 16, 64), llama3);
  check_close(frequencies_of("{" + rope + R"(, "original_max_position_embeddings": 64}})", 16, 512), llama3);
  check_close(
      frequencies_of(
          "{" + rope + R"(, "original_max_position_embeddings": 7}, "original_max_position_embeddings": 64})",
          16, 512),
      llama3);
}

TEST_CASE("unsupported rotary embeddings are refused") {
  const std::string supported = "only default, linear and llama3 are supported";
  for (const std::string kind : {"dynamic", "yarn", "longrope", "su", "mrope"}) {
    CHECK(refused_rope(R"({"rope_scaling": {"type": ")" + kind + R"(", "factor": 4}})") ==
          "f: 'rope_scaling.type' is '" + kind + "': " + supported);
    CHECK(refused_rope(R"({"rope_parameters": {"rope_type": ")" + kind + R"("}})") ==
          "f: 'rope_parameters.rope_type' is '" + kind + "': " + supported);
  }
  CHECK(refused_rope(R"({"partial_rotary_factor": 0.5})") ==
        "f: 'partial_rotary_factor' must be 1: partial rotation is not supported");
  CHECK(refused_rope(R"({"rope_parameters": {"partial_rotary_factor": 0.5}})") ==
        "f: 'rope_parameters.partial_rotary_factor' must be 1: partial rotation is not supported");
  CHECK(refused_rope(R"({"rope_parameters": {"full_attention": {"rope_theta": 1}}})") ==
        "f: 'rope_parameters.full_attention' is an object: rotary embeddings that differ by layer are not "
        "supported");
}

TEST_CASE("a part of each head is rotated if the family allows it, with frequencies by the part's width") {
  const std::vector<double> of_10000{1, 0.1, 0.01, 0.001};
  check_close(of_phi(R"({"partial_rotary_factor": 0.5})", 16).frequencies, of_10000);
  check_close(of_phi(R"({"rope_parameters": {"partial_rotary_factor": 0.5, "rope_type": "default"}})", 16)
                  .frequencies,
              of_10000);
  CHECK(of_phi(R"({"partial_rotary_factor": 0.75})", 128).frequencies.size() == 48);
  CHECK(
      error_of([] { of_phi(R"({"partial_rotary_factor": 0.2})", 16); }) ==
      "f: 'partial_rotary_factor' gives 3 rotated numbers of a head of 16: they must be even and at least 2");
}

TEST_CASE("LongRoPE divides each frequency, by the long factors beyond the original context") {
  const std::string factors = R"("short_factor": [1, 2], "long_factor": [4, 10])";
  const std::string old =
      R"({"original_max_position_embeddings": 4096, "rope_scaling": {"type": "longrope", )" + factors + "}}";
  const std::string newer =
      R"({"rope_parameters": {"rope_type": "longrope", "original_max_position_embeddings": 4096, )" +
      factors + "}}";
  const std::string older =
      R"({"original_max_position_embeddings": 4096, "rope_scaling": {"type": "su", )" + factors + "}}";
  const std::string oldest =
      R"({"original_max_position_embeddings": 4096, "rope_scaling": {"type": "yarn", )" + factors + "}}";
  for (const auto& config : {old, newer, older, oldest}) {
    const auto r = of_phi(config, 4, 131072);
    check_close(r.frequencies, {1, 0.01 / 2});
    check_close(r.long_frequencies, {1.0 / 4, 0.01 / 10});
    CHECK(r.short_positions == 4096);
    CHECK(r.scale == doctest::Approx(1.1902380714238083).epsilon(1e-6));  // sqrt(1 + ln 32 / ln 4096)
    CHECK(r.of_length(4096) == r.frequencies);
    CHECK(r.of_length(4097) == r.long_frequencies);
  }
  CHECK(of_phi(old, 4, 4096).scale == 1);
  const auto by_default = of_phi(R"({"rope_scaling": {"type": "longrope", )" + factors + "}}", 4, 131072);
  CHECK(by_default.short_positions == 4096);
  CHECK(by_default.scale == doctest::Approx(1.1902380714238083).epsilon(1e-6));
  const auto with = [&](const std::string& keys) {
    return of_phi(
        R"({"original_max_position_embeddings": 4096, "rope_scaling": {"type": "longrope", )" + keys + "}}",
        4, 131072);
  };
  CHECK(with(factors + R"(, "attention_factor": 1.5)").scale == 1.5F);
  CHECK(with(factors + R"(, "factor": 4096)").scale == doctest::Approx(std::sqrt(2.0)));
  CHECK(error_of([&] { with(R"("short_factor": [1, 2], "long_factor": [4])"); }) ==
        "f: 'rope_scaling.long_factor' must be a list of 2 numbers, one for each frequency");
  CHECK(error_of([&] { with(R"("short_factor": [1, 0], "long_factor": [4, 4])"); }) ==
        "f: 'rope_scaling.short_factor' is 0: it must be a number from 0.01 to 1000000");
  CHECK(error_of([&] { with(R"("short_factor": [1, 1])"); }) == "f: 'rope_scaling.long_factor' is missing");
  CHECK(error_of([] { of_phi(R"({"rope_scaling": {"type": "dynamic"}})", 4); }) ==
        "f: 'rope_scaling.type' is 'dynamic': only default, linear, llama3 and longrope are supported");
}

TEST_CASE("invalid numbers of a rotary embedding are refused") {
  CHECK(refused_rope(R"({"rope_theta": 0})") ==
        "f: 'rope_theta' is 0: it must be a number from 1 to 1000000000000");
  CHECK(refused_rope(R"({"rope_scaling": 7})") == "f: 'rope_scaling' is 7: it must be an object");
  CHECK(refused_rope(R"({"rope_scaling": {"type": 7}})") ==
        "f: 'rope_scaling.type' is 7: it must be a string");
  CHECK(refused_rope(R"({"rope_scaling": {"type": "linear"}})") == "f: 'rope_scaling.factor' is missing");
  CHECK(refused_rope(R"({"rope_scaling": {"type": "linear", "factor": 0}})") ==
        "f: 'rope_scaling.factor' is 0: it must be a number from 1 to 1000000");
  CHECK(
      refused_rope(
          R"({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 4}})") ==
      "f: 'rope_scaling.high_freq_factor' must be above 'low_freq_factor'");
}

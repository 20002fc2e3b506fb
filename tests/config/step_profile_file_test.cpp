#include "config/step_profile_file.hpp"

#include <doctest/doctest.h>

#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

constexpr std::string_view good_profile = R"([step]
fixed_us = 1000
decode_us = 2.5
decode_context_ns = 0.5
[kv]
token_bytes = 1024
[adapter]
load_ms = 2
)";

std::string step_profile_problems(std::string_view toml) {
  return listed(read_step_profile_text(toml, "p.toml").problems);
}

llm::step_shape decodes(uint64_t rows, uint64_t context) {
  llm::step_shape s;
  s.decodes = rows;
  s.decode_context = rows * context;
  s.longest_context = context;
  return s;
}

double ms(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace

TEST_CASE("step profile: terms have their units, and absent terms take no time") {
  const auto r = read_step_profile_text(good_profile, "p.toml");
  REQUIRE(r.problems.empty());
  CHECK(r.profile.kv_token_bytes == 1024);
  CHECK(r.profile.adapter_load == 2ms);
  CHECK(r.profile.step(decodes(2, 1000)) == 1006us);
  llm::step_shape prefill;
  prefill.prefill_tokens = 100;
  CHECK(r.profile.step(prefill) == 1ms);
}

TEST_CASE(
    "step profile: Punica's profile on an A100 gives the paper's times at both lengths and batch sizes") {
  const auto r = read_step_profile(TROUPE_EXAMPLES "/profiles/punica-7b-a100.toml");
  REQUIRE(r.problems.empty());
  CHECK(ms(r.profile.step(decodes(1, 128))) == doctest::Approx(11).epsilon(0.01));
  CHECK(ms(r.profile.step(decodes(32, 128))) == doctest::Approx(13).epsilon(0.01));
  CHECK(ms(r.profile.step(decodes(1, 2048))) == doctest::Approx(17).epsilon(0.01));
  CHECK(ms(r.profile.step(decodes(32, 2048))) == doctest::Approx(34).epsilon(0.01));
}

TEST_CASE("step profile: a problem is reported with its place") {
  CHECK(step_profile_problems("").find("cannot both be 0") != std::string::npos);
  CHECK(step_profile_problems("[step]\nfixed_us = 1\n").find("token_bytes") != std::string::npos);
  CHECK(step_profile_problems("[step]\nfixed_us = -1\n[kv]\ntoken_bytes = 8\n").find("p.toml:2:") == 0);
  CHECK(step_profile_problems("[step]\nfixed_us = 1\nfast = 2\n[kv]\ntoken_bytes = 8\n")
            .find("p.toml:3:1: step: unknown key 'fast'") == 0);
  CHECK(step_profile_problems("[step\n").find("p.toml:1:") == 0);
  CHECK(read_step_profile("/nowhere.toml").problems.size() == 1);
}

TEST_CASE("step profile: the shape of a step counts rows of prefills, decodes, contexts and adapters") {
  llm::llm_step s;
  s.tokens = {1, 2, 3, 4, 5};
  s.positions = {0, 1, 2, 9, 4};
  s.row_sequence = {0, 0, 0, 1, 2};
  s.segment_end = {0, 3, 4, 5};
  s.segment_adapters = {llm::adapter_id{1}, llm::base_model, llm::adapter_id{2}};
  const auto shape = llm::shape_of(s);
  CHECK(shape.prefill_tokens == 3);
  CHECK(shape.prefill_context == 6);
  CHECK(shape.decodes == 2);
  CHECK(shape.decode_context == 15);
  CHECK(shape.longest_context == 10);
  CHECK(shape.adapter_rows == 4);
  CHECK(shape.adapters == 2);
}

TEST_CASE("step profile: a written profile reads back as the same profile") {
  llm::llm_profile p;
  p.step = {.fixed = 10568us,
            .prefill_token = 60us,
            .prefill_context = std::chrono::duration<double, std::nano>(2.6),
            .decode = std::chrono::duration<double, std::micro>(32.3),
            .decode_context = 252ns,
            .longest_context = std::chrono::duration<double, std::nano>(0.0125),
            .adapter_row = 3us,
            .adapter = 17us};
  p.kv_token_bytes = 524288;
  p.adapter_load = 2500us;
  const auto text = step_profile_text(p, "a model\non a device");
  CHECK(text.starts_with("# a model\n# on a device\n"));
  const auto r = read_step_profile_text(text, "p.toml");
  CHECK(r.problems.empty());
  CHECK(r.profile == p);
}

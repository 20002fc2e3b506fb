#include "tools/lab/llm_scenario_file.hpp"

#include <doctest/doctest.h>

#include "tests/tools/lab/problems.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string texts_head =
    "[experiment]\ntitle = 'x'\nmeasure = 'llm'\npolicies = ['mixed', 'one_adapter']\n";
const std::string texts_setup = "[llm]\nprofile = '" TROUPE_EXAMPLES
                                "/profiles/punica-7b-a100.toml'\n"
                                "engines = 3\noutput_tokens = { median = 50, max = 500 }\n";

}  // namespace

TEST_CASE("llm scenario file: a case changes only the keys of the experiment") {
  const auto r = read_experiment_text(texts_head + texts_setup + R"([[case]]
name = "a"
[[case]]
name = "b"
llm = { popularity = "distinct", peak_rps = 9, length_s = 60 }
)",
                                      "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  const auto &a = *r.spec.cases.at(0).base.llm, &b = *r.spec.cases.at(1).base.llm;
  CHECK(a.engines == 3);
  CHECK(a.output.median == 50);
  CHECK(a.output.sigma == 1.1);
  CHECK(a.output.max == 500);
  CHECK(a.popularity == adapter_popularity::skewed);
  CHECK_FALSE(a.peak_rps);
  CHECK(b.engines == 3);
  CHECK(b.popularity == adapter_popularity::distinct);
  CHECK(b.peak_rps == 9);
  CHECK(b.length == 60s);
  CHECK(b.profile.kv_token_bytes == 524288);
}

TEST_CASE("llm scenario file: problems are reported with their place") {
  CHECK(experiment_problems(texts_head) == "1:1: llm: is missing; the measure llm needs it");
  CHECK(experiment_problems(texts_head + "[llm]\nengines = 1\n").starts_with("5:1: llm.profile: "));
  CHECK(experiment_problems(texts_head + "[llm]\nprofile = '/nowhere.toml'\n").find("/nowhere.toml") !=
        std::string::npos);
  CHECK(experiment_problems(texts_head + texts_setup + "kv_gb = 1\n") ==
        "9:9: llm.kv_gb: holds 1907 positions; the longest prompt and answer need 2548");
  CHECK(experiment_problems(texts_head + texts_setup + "popularity = 'zip'\n").find("did you mean 'zipf'?") !=
        std::string::npos);
  CHECK(
      experiment_problems("[experiment]\ntitle = 'x'\nmeasure = 'llm'\npolicies = ['eager']\n" + texts_setup)
          .starts_with("4:12: experiment.policies: unknown policy 'eager'; there are mixed, "
                       "one_adapter, punica, "));
  CHECK(experiment_problems("[experiment]\ntitle = 'x'\n[[model]]\nname = 'm'\nalpha_ms = 1\nbeta_ms = 1\n"
                            "slo_ms = 9\n" +
                            texts_setup)
            .find("llm: the measure goodput ignores it") != std::string::npos);
  CHECK(experiment_problems(texts_head + texts_setup + "[[axis]]\nparameter = 'gpus'\nvalues = [1]\n")
            .find("the measure llm ignores gpus") != std::string::npos);
}

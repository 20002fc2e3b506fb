#include "tools/lab/text_scenario_file.hpp"

#include <doctest/doctest.h>

#include "tools/lab/experiment_file.hpp"

using namespace troupe;
using namespace troupe::lab;

namespace {

const std::string head =
    "[experiment]\ntitle = 'x'\nmeasure = 'texts'\npolicies = ['mixed', 'one_adapter']\n";
const std::string setup = "[texts]\nprofile = '" TROUPE_EXAMPLES
                          "/profiles/punica-7b-a100.toml'\n"
                          "engines = 3\noutput_tokens = { median = 50, most = 500 }\n";

std::string problems_of(const std::string& text) {
  std::string out;
  for (const auto& p : read_experiment_text(text, "e.toml").problems) out += to_string(p) + '\n';
  return out;
}

}  // namespace

TEST_CASE("text scenario file: a case changes what the experiment says, and nothing else") {
  const auto r = read_experiment_text(head + setup + R"([[case]]
name = "a"
[[case]]
name = "b"
texts = { popularity = "distinct", peak_rps = 9, length_s = 60 }
)",
                                      "e.toml");
  for (const auto& p : r.problems) FAIL(to_string(p));
  const auto &a = *r.spec.cases.at(0).base.texts, &b = *r.spec.cases.at(1).base.texts;
  CHECK(a.engines == 3);
  CHECK(a.output.median == 50);
  CHECK(a.output.sigma == 1.1);
  CHECK(a.output.most == 500);
  CHECK(a.popularity == adapter_popularity::skewed);
  CHECK_FALSE(a.peak_rps);
  CHECK(b.engines == 3);
  CHECK(b.popularity == adapter_popularity::distinct);
  CHECK(b.peak_rps == 9);
  CHECK(b.length == 60s);
  CHECK(b.profile.kv_token_bytes == 524288);
}

TEST_CASE("text scenario file: mistakes are told with their place") {
  CHECK(problems_of(head) == "e.toml:1:1: texts: is missing; the measure texts needs it\n");
  CHECK(problems_of(head + "[texts]\nengines = 1\n").starts_with("e.toml:5:1: texts.profile: "));
  CHECK(problems_of(head + "[texts]\nprofile = '/nowhere.toml'\n").find("/nowhere.toml") !=
        std::string::npos);
  CHECK(problems_of(head + setup + "kv_gb = 1\n") ==
        "e.toml:9:9: texts.kv_gb: holds 1907 positions; the longest prompt and answer need 2548\n");
  CHECK(problems_of(head + setup + "popularity = 'zip'\n").find("did you mean 'zipf'?") != std::string::npos);
  CHECK(problems_of("[experiment]\ntitle = 'x'\nmeasure = 'texts'\npolicies = ['eager']\n" + setup)
            .starts_with("e.toml:4:12: experiment.policies: unknown policy 'eager'; there are mixed, "
                         "one_adapter, punica, "));
  CHECK(problems_of("[experiment]\ntitle = 'x'\n[[model]]\nname = 'm'\nalpha_ms = 1\nbeta_ms = 1\n"
                    "slo_ms = 9\n" +
                    setup)
            .find("texts: the measure goodput takes no notice of it") != std::string::npos);
  CHECK(problems_of(head + setup + "[[axis]]\nparameter = 'gpus'\nvalues = [1]\n")
            .find("the measure texts takes no notice of gpus") != std::string::npos);
}

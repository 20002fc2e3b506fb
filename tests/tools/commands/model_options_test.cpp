#include "tools/commands/model_options.hpp"

#include "config/problem.hpp"
#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

using flags = std::vector<std::pair<std::string, std::string>>;

/// Reads a file with this text; its name is left out of the problems.
struct asked_model {
  temporary_folder folder;
  model_reading reading;

  asked_model(std::string_view text, const flags& keys)
      : reading(read_model({folder.write("m.toml", text).string(), keys}, read(good_cluster).spec)) {}
  std::string problems() const {
    std::string out;
    const auto name = (folder / "m.toml").string() + ":";
    for (const auto& p : reading.problems) {
      const auto text = to_string(p);
      out += (out.empty() ? "" : "\n") + (text.starts_with(name) ? text.substr(name.size()) : text);
    }
    return out;
  }
};

constexpr std::string_view in_two_tables = "name = \"x\"\nslo_ms = 20\n[profile]\nalpha_ms = 1\nbeta_ms = 5";

}  // namespace

TEST_CASE("model_options: flags extend a file, with or without a line end") {
  for (const std::string end : {"", "\n", "\n# the end", "\n\n", "\r\n"}) {
    CAPTURE(end);
    const asked_model m(std::string(in_two_tables) + end, {{"max_batch", "8"}, {"weight", "2"}});
    CHECK(m.problems() == "");
    CHECK(m.reading.spec.name == "x");
    CHECK(m.reading.spec.slo == 20ms);
    CHECK(m.reading.spec.latency == latency_model{1ms, 5ms});
    CHECK(m.reading.spec.max_batch == 8);
  }
  const asked_model marked("\xEF\xBB\xBFname = \"x\"\nslo_ms = 20",
                           {{"profile", "{ alpha_ms = 1, beta_ms = 5 }"}});
  CHECK(marked.problems() == "");
  CHECK(marked.reading.spec.latency == latency_model{1ms, 5ms});
}

TEST_CASE("model_options: flags alone are a model, and so is a file") {
  const auto m =
      read_model({"", {{"name", "\"x\""}, {"slo_ms", "20"}, {"profile", "{ alpha_ms = 1, beta_ms = 5 }"}}},
                 read(good_cluster).spec);
  CHECK(listed(m.problems) == "");
  CHECK(m.spec.slo == 20ms);
  CHECK(asked_model(in_two_tables, {}).problems() == "");
}

TEST_CASE("model_options: a problem of the file has its place, with and without flags") {
  const std::string_view text =
      "name = \"x\"\nslo_ms = 20\nmax_bach = 8\n[profile]\nalpha_ms = 1\nbeta_ms = -1";
  for (const auto& keys :
       {flags{}, flags{{"input_bytes", "8"}}, flags{{"input_bytes", "8"}, {"weight", "1"}}})
    CHECK(asked_model(text, keys).problems() ==
          "3:1: unknown key 'max_bach'; did you mean 'max_batch'?\n"
          "6:11: profile.beta_ms: must be milliseconds in 0..3600000, not -1");
  CHECK(asked_model("name = \"x\"\nslo_ms = = 20", {{"max_batch", "8"}})
            .problems()
            .starts_with("2:10: not valid TOML: "));
  CHECK(
      asked_model("name = \"x\"\nprofile = { alpha_ms = 1, beta_ms = 5 }", {{"max_batch", "8"}}).problems() ==
      "1:1: slo_ms: is missing; it must be milliseconds in 0.001..3600000");
  CHECK(listed(read_model({"/nowhere/m.toml", {{"max_batch", "8"}}}, read(good_cluster).spec).problems) ==
        "/nowhere/m.toml: cannot be read: No such file or directory\n");
}

TEST_CASE("model_options: a key that both give is refused with its place") {
  CHECK(asked_model(in_two_tables, {{"slo_ms", "30"}, {"max_batch", "8"}}).problems() ==
        "2:10: slo_ms: --slo-ms gives it too; remove one of the two");
  CHECK(asked_model(in_two_tables, {{"profile", "\"measure\""}}).problems() ==
        "3:1: profile: --profile gives it too; remove one of the two");
}

TEST_CASE("model_options: a problem of a flag names the flag") {
  CHECK(asked_model(in_two_tables, {{"max_batch", "0"}}).problems() ==
        "troupe: max_batch: must be an integer in 1..65536, not 0");
  CHECK(listed(read_model({"", {{"name", "\"x\""}}}, read(good_cluster).spec).problems)
            .find("troupe: slo_ms: is missing; it must be milliseconds in 0.001..3600000\n") !=
        std::string::npos);
  for (const std::string value : {"many", "", "\"\"\"", "8\nweight = 1", "{ alpha_ms = 1", "8 ]"})
    CHECK(asked_model(in_two_tables, {{"max_batch", value}}).problems() ==
          "troupe: --max-batch: must be a TOML value, not " + one_line(value));
}

#include "tools/lab/scenario_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "config/profile_file.hpp"
#include "config/text_file.hpp"
#include "tools/lab/llm_scenario_file.hpp"

namespace troupe::lab {

namespace {

constexpr double hour_ms = 3.6e6;

/// The profiles of a file, or none and a problem at `key`.
std::vector<profile> profiles_of(section& s, std::string_view key, const std::filesystem::path& file) {
  auto reading = read_profiles(file);
  if (!reading.problems.empty()) {
    s.refuse(key, fmt::format("{}", to_string(reading.problems.front())));
    reading.profiles.clear();
  }
  return reading.profiles;
}

class group_reader {
 public:
  group_reader(section& s, const std::filesystem::path& directory, std::vector<model_group>& out)
      : s_(s), directory_(directory), out_(out) {}

  void read() {
    if (s_.has("zoo")) return read_zoo();
    s_.unused("batching_effect", "selects models of a zoo; give zoo = \"FILE\"");
    s_.unused("zoo");
    s_.unused("slo_times", "scales the SLOs of a zoo; give slo_ms");
    model_group m;
    m.name = s_.name("name");
    std::optional<duration> slo;
    if (s_.has("profile")) {
      s_.unused("alpha_ms", "the profile gives it; remove one of the two");
      s_.unused("beta_ms", "the profile gives it; remove one of the two");
      read_profile(m, slo);
    } else {
      s_.unused("profile");
      m.latency.alpha = s_.milliseconds("alpha_ms", 0, hour_ms);
      m.latency.beta = s_.milliseconds("beta_ms", 0, hour_ms);
      if (s_.has("alpha_ms") && s_.has("beta_ms") && m.latency(1) <= duration::zero())
        s_.refuse("alpha_ms", "alpha_ms and beta_ms cannot both be 0");
    }
    read_slo(m, slo);
    read_rest(m);
    out_.push_back(m);
  }

 private:
  void read_profile(model_group& m, std::optional<duration>& slo) {
    const auto profiles = profiles_of(s_, "profile", directory_ / s_.text("profile"));
    std::vector<std::string_view> names;
    for (const auto& p : profiles) {
      names.push_back(p.name);
      if (p.name != m.name) continue;
      m.latency = p.latency;
      slo = p.slo;
      return;
    }
    if (!profiles.empty())
      s_.refuse("name",
                fmt::format("the profile file has no model {}{}", in_quotes(m.name), hint(m.name, names)));
  }

  void read_slo(model_group& m, std::optional<duration> fallback) {
    if (auto* of = s_.table("slo_of")) {
      s_.unused("slo_ms", "slo_of gives it; remove one of the two");
      m.slo_of = model_group::relative_slo{of->number("times", "a number", 0.1, 1000),
                                           static_cast<uint32_t>(of->integer("rows", 1, 65536))};
    } else {
      m.slo = s_.milliseconds("slo_ms", 0.001, hour_ms,
                              fallback ? std::optional{to_ms(*fallback)} : std::nullopt);
    }
  }

  void read_rest(model_group& m) {
    m.copies = static_cast<uint32_t>(s_.integer("copies", 1, max_scenario_models, 1));
    m.share = s_.number("share", "a number", 1e-9, 1e9, 1.0);
    m.max_batch = static_cast<uint32_t>(s_.integer("max_batch", 1, 65536, 1024));
  }

  void read_zoo() {
    static constexpr std::array<std::string_view, 3> effects{"all", "strong", "weak"};
    for (const auto* key : {"name", "alpha_ms", "beta_ms", "profile", "slo_ms", "slo_of"})
      s_.unused(key, "belongs to a single model, not to a zoo; remove it or zoo");
    const auto zoo = profiles_of(s_, "zoo", directory_ / s_.text("zoo"));
    const auto effect = s_.choice("batching_effect", effects, 0);
    const double slo_times = s_.number("slo_times", "a number", 0.01, 1000, 1.0);
    model_group all;
    read_rest(all);
    for (const auto& p : zoo) {
      // Symphony §5.1: the batching effect of a model is strong if β/α > 2
      const bool strong = p.latency.beta > 2 * p.latency.alpha;
      if ((effect == 1 && !strong) || (effect == 2 && strong)) continue;
      if (!p.slo) {
        s_.refuse("zoo", fmt::format("model {} has no SLO there; add a column slo_ms", in_quotes(p.name)));
        return;
      }
      auto m = all;
      m.name = p.name;
      m.latency = p.latency;
      m.slo = std::chrono::duration_cast<duration>(*p.slo * slo_times);
      out_.push_back(m);
    }
  }

  section& s_;
  const std::filesystem::path& directory_;
  std::vector<model_group>& out_;
};

void read_arrivals(section& s, scenario& out) {
  static constexpr std::array<std::string_view, 2> names{"poisson", "constant"};
  if (s.has_table("arrivals")) {
    out.arrivals = arrival_kind::gamma;
    const double shape = s.table("arrivals")->number("gamma_shape", "a number", 1e-4, 1e4);
    out.gamma_cv = 1 / std::sqrt(shape);
  } else if (!s.has("arrivals")) {
    s.unused("arrivals");
  } else {
    out.arrivals = static_cast<arrival_kind>(
        s.choice("arrivals", names, 0, "\"poisson\", \"constant\" or { gamma_shape }"));
  }
}

void read_popularity(section& s, scenario& out) {
  static constexpr std::array<std::string_view, 1> names{"shares"};
  if (s.has_table("popularity")) {
    out.zipf = s.table("popularity")->number("zipf", "a number", 0, 10);
  } else if (!s.has("popularity")) {
    s.unused("popularity");
  } else {
    s.choice("popularity", names, 0, "\"shares\" or { zipf }");
    out.zipf = 0;
  }
}

void read_network(section& root, scenario& out) {
  auto& s = root.table_or_empty("network");
  const auto us = [](duration d) { return to_ms(d) * 1000; };
  out.network.control = s.microseconds("control_us", 0, hour_ms * 1000, us(out.network.control));
  out.network.data = s.microseconds("data_us", 0, hour_ms * 1000, us(out.network.data));
  out.response = s.microseconds("response_us", 0, hour_ms * 1000, us(out.response));
}

void read_search(section& root, search_effort& out) {
  auto& s = root.table_or_empty("search");
  out.requests =
      static_cast<uint64_t>(s.integer("requests", 100, 1'000'000'000, static_cast<int64_t>(out.requests)));
  out.warm_up = s.seconds("warm_up_s", 0, 3600, to_seconds(out.warm_up));
  out.seeds = static_cast<uint32_t>(s.integer("seeds", 1, 10'000, out.seeds));
  out.first_seed =
      static_cast<uint64_t>(s.integer("first_seed", 0, INT64_MAX / 2, static_cast<int64_t>(out.first_seed)));
  out.whose = static_cast<criterion>(s.choice("criterion", criterion_names, static_cast<size_t>(out.whose)));
  out.max_bad = s.number("max_bad", "a fraction", 0, 0.5, out.max_bad);
  out.precision = s.number("precision", "a fraction", 1e-5, 0.5, out.precision);
}

void read_load(section& root, scenario& out) {
  if (!root.has("changing_load")) return root.unused("changing_load");
  auto* s = root.table("changing_load");
  if (s == nullptr) return;
  auto load = out.load.value_or(changing_load{});
  load.step = s->seconds("step_s", 0.01, 3600, to_seconds(load.step));
  load.length = s->seconds("length_s", 1, 86'400, to_seconds(load.length));
  load.swing = s->number("swing", "a fraction", 0, 1, load.swing);
  load.noise = s->number("noise", "a fraction", 0, 1, load.noise);
  load.rush_times = s->number("rush_times", "a number", 0.1, 100, load.rush_times);
  load.seed = static_cast<uint64_t>(s->integer("seed", 0, INT64_MAX, static_cast<int64_t>(load.seed)));
  out.load = load;
}

void read_silence(section& root, scenario& out) {
  if (!root.has("silence")) return root.unused("silence");
  if (auto* s = root.table("silence"))
    out.pause = silence{s->milliseconds("at_ms", 0, hour_ms), s->milliseconds("for_ms", 0, hour_ms)};
}

/// Reports a scenario that cannot be served.
void check_possible(section& s, const scenario& out) {
  if (const auto why = impossible(out); !why.empty()) s.refuse("model", why);
}

}  // namespace

scenario read_scenario_keys(section& s, const std::filesystem::path& directory, const scenario& base) {
  auto out = base;
  if (s.has("gpus_per_model")) {
    out.gpus_per_model = s.number("gpus_per_model", "a number", 1e-6, 1e6);
    s.unused("gpus", "gpus_per_model gives it; remove one of the two");
  } else {
    s.unused("gpus_per_model");
    if (s.has("gpus")) out.gpus_per_model = 0;
    out.gpus = static_cast<uint32_t>(s.integer("gpus", 1, max_scenario_gpus, out.gpus));
  }
  read_arrivals(s, out);
  read_popularity(s, out);
  if (s.has("rate_rps")) {
    out.rate_rps = s.number("rate_rps", "requests a second", 1e-3, 1e9);
  } else {
    s.unused("rate_rps");
  }
  read_network(s, out);
  read_search(s, out.search);
  read_load(s, out);
  read_silence(s, out);
  read_llm(s, directory, out.llm);
  read_latency(s, out.latency);
  read_scaling(s, out.scaling);
  read_chain(s, out.chain);
  if (out.load && out.pause)
    s.refuse(s.has("silence") ? "silence" : "changing_load",
             "a run has silence or changing_load, not both; remove one of the two");
  if (const auto tables = s.tables("model"); !tables.empty()) {
    out.models.clear();
    const auto before = s.owner().problem_count();
    for (auto* m : tables) {
      std::vector<model_group> groups;
      const auto problems = s.owner().problem_count();
      group_reader{*m, directory, groups}.read();
      scenario alone = out;
      alone.models = groups;
      if (s.owner().problem_count() == problems) {
        if (const auto why = impossible(alone); !why.empty())
          m->refuse(m->has("slo_ms")   ? "slo_ms"
                    : m->has("slo_of") ? "slo_of"
                    : m->has("zoo")    ? "zoo"
                                       : "name",
                    why);
      }
      out.models.insert(out.models.end(), groups.begin(), groups.end());
    }
    if (out.model_count() > max_scenario_models)
      s.refuse("model", fmt::format("{} models in all; at most {} can be simulated", out.model_count(),
                                    max_scenario_models));
    if (s.owner().problem_count() == before && out.models.empty())
      s.refuse("model", "no model is left to serve; the zoo has none of this batching_effect");
  } else if (!out.models.empty()) {
    check_possible(s, out);
  }
  return out;
}

scenario read_case_keys(section& s, const std::filesystem::path& directory, const scenario& base) {
  auto from = base;
  if (s.has("scenario")) {
    const auto file = directory / s.text("scenario");
    auto reading = read_scenario(file);
    for (const auto& p : reading.problems) s.refuse("scenario", to_string(p));
    if (reading.ok()) from = reading.spec;
  } else {
    s.unused("scenario");
  }
  return read_scenario_keys(s, directory, from);
}

scenario_reading read_scenario(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text.error.empty()) return {{}, {about_file(file.string(), text.error)}};
  return read_scenario_text(text.content, file.string());
}

scenario_reading read_scenario_text(std::string_view text, const std::string& file) {
  reader in{text, file};
  auto& root = in.root();
  scenario_reading out;
  out.spec = read_scenario_keys(root, std::filesystem::path(file).parent_path(), {});
  if (!root.has("model") && root.has("experiment")) {
    root.refuse("experiment",
                fmt::format("this is an experiment; run it with troupe experiment run {}", file));
  } else if (!root.has("model")) {
    root.refuse("model", "is missing; write one [[model]] for each kind of model");
  }
  for (const auto* key : {"experiment", "partition", "plot"})
    if (auto* table = root.table(key)) table->ignore_rest();
  for (const auto* key : {"case", "axis", "claim", "paper"})
    for (auto* table : root.tables(key)) table->ignore_rest();
  out.problems = in.finish();
  return out;
}

}  // namespace troupe::lab

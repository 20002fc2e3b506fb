#include "tools/lab/experiment_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/reader.hpp"
#include "config/text_file.hpp"
#include "policies/registry/batchings.hpp"
#include "tools/lab/axis_reader.hpp"
#include "tools/lab/claim_reader.hpp"
#include "tools/lab/measure_policies.hpp"
#include "tools/lab/parameter.hpp"
#include "tools/lab/plot_reader.hpp"
#include "tools/lab/policy_choice.hpp"
#include "tools/lab/scenario_file.hpp"

namespace troupe::lab {

namespace {

class experiment_reader {
 public:
  experiment_reader(reader& in, const std::filesystem::path& file)
      : root_(in.root()), directory_(file.parent_path()) {
    out_.name = file.stem().string();
  }

  experiment read() {
    const auto base = read_scenario_keys(root_, directory_, {});
    if ((head_ = root_.table("experiment")) != nullptr) {
      read_head(*head_);
    } else {
      root_.refuse("experiment", "is missing; this is a scenario, for troupe goodput");
    }
    if (auto* s = root_.table("partition")) read_partition(*s);
    if (out_.what == measure::partition && !out_.partition)
      root_.refuse("partition", "is missing; the measure partition needs it");
    axes_ = read_axes(root_, out_.what, out_.policies);
    out_.axes = axes_.axes;
    check_waiting();
    read_cases(base);
    read_claims(root_, axes_.complete, out_);
    if (auto* s = root_.table("plot")) out_.plot = read_plot(*s, axes_.complete, out_);
    return std::move(out_);
  }

 private:
  void read_head(section& s) {
    out_.title = s.text("title");
    out_.reproduces = s.text("reproduces", "");
    out_.says = s.text("says", "");
    out_.differs = s.text("differs", "");
    out_.what = static_cast<measure>(s.choice("measure", measure_names, 0));
    out_.keeps = static_cast<curve>(s.choice("keeps", curve_names, 0));
    if (out_.keeps != curve::none && out_.what != measure::goodput && out_.what != measure::load)
      s.refuse("keeps", "only the measures goodput and load keep curves");
    out_.policies = s.texts("policies");
    if (out_.policies.empty()) out_.policies = {"deferred"};
    for (auto p = out_.policies.begin(); p != out_.policies.end(); ++p) {
      if (const auto why = unusable_policy(out_.what, *p); !why.empty()) s.refuse("policies", why);
      if (std::find(out_.policies.begin(), p, *p) != p)
        s.refuse("policies", fmt::format("holds '{}' twice; remove one", *p));
    }
    if (s.has("shedding") && (out_.what == measure::scheduler || !serves_models(out_.what))) {
      s.unused("shedding", fmt::format("has no effect: the measure {} ignores it; remove it",
                                       measure_names[static_cast<size_t>(out_.what)]));
    } else if (s.has("shedding")) {
      if (const auto i = s.choice("shedding", shedding_names())) out_.shedding = shedding_names()[*i];
    } else {
      s.unused("shedding");
    }
    if (s.has("relative_to")) {
      out_.relative_to = policy_of(s, "relative_to", out_.policies);
    } else {
      s.unused("relative_to");
    }
    out_.sample = static_cast<uint32_t>(s.integer("sample", 0, 1'000'000, 0));
    out_.sample_seed = static_cast<uint64_t>(s.integer("sample_seed", 0, INT64_MAX, 1));
    auto& quick = s.table_or_empty("quick");
    if (quick.has("requests")) {
      out_.quick_requests = static_cast<uint64_t>(quick.integer("requests", 100, 1'000'000'000));
    } else {
      quick.unused("requests");
    }
    out_.quick_seeds = static_cast<uint32_t>(quick.integer("seeds", 1, 10'000, 1));
    out_.quick_sample = static_cast<uint32_t>(quick.integer("sample", 0, 1'000'000, out_.sample));
  }

  void read_partition(section& s) {
    partition_setup p;
    auto zoo = read_zoo(directory_ / s.text("zoo"));
    if (!zoo.problem.empty()) s.refuse("zoo", zoo.problem);
    p.zoo = std::move(zoo.models);
    p.study.models = static_cast<uint32_t>(s.integer("models", 1, 100'000, p.study.models));
    p.study.parts = static_cast<uint32_t>(s.integer("parts", 1, 1000, p.study.parts));
    p.study.steps =
        static_cast<uint64_t>(s.integer("steps", 1, INT64_MAX, static_cast<int64_t>(p.study.steps)));
    p.study.device_bytes = 1e9 * s.number("device_gb", "gigabytes", 1e-6, 1e9, p.study.device_bytes / 1e9);
    p.study.dynamic_bytes = 1e9 * s.number("dynamic_gb", "gigabytes", 0, 1e9, p.study.dynamic_bytes / 1e9);
    p.random_seconds = s.number("random_s", "seconds", 0.001, 3600, p.random_seconds);
    p.quick_random_seconds = s.number("quick_random_s", "seconds", 0.001, 3600, p.quick_random_seconds);
    out_.partition = std::move(p);
  }

  /// Policies with an external waiting time need the axis that sets it.
  void check_waiting() {
    for (const auto& p : out_.policies) {
      if (!is_waiting(p) || scheduling_named(p)) continue;
      needs_timeout_ = p;
      const bool varied = std::any_of(out_.axes.begin(), out_.axes.end(),
                                      [](const auto& a) { return a.parameter == "timeout_percent"; });
      if (!varied && axes_.complete)
        head_->refuse(
            "policies",
            fmt::format("'{}' needs a time-out; add an [[axis]] with parameter = \"timeout_percent\"", p));
    }
  }

  void read_cases(const scenario& base) {
    for (auto* s : root_.tables("case")) {
      experiment_case c;
      c.name = s->text("name");
      c.quick = s->flag("quick", true);
      if (auto* values = s->table("values")) {
        for (const auto& a : out_.axes)
          if (const auto* p = parameter_named(a.parameter); p != nullptr && values->has(p->name))
            c.values[a.parameter] = read_values(*values, p->name, *p);
        const auto own = c.values.find("timeout_percent");
        if (!needs_timeout_.empty() && own != c.values.end() && own->second.empty())
          values->refuse("timeout_percent",
                         fmt::format("'{}' needs this time-out; give it a value", needs_timeout_));
        if (!axes_.complete) values->ignore_rest();
      }
      c.base = read_case_keys(*s, directory_, base);
      if (serves_models(out_.what) && c.base.models.empty() && !s->has("model"))
        s->refuse("model", "is missing; write [[case.model]], or [[model]] for all cases");
      check_points(*s, c);
      out_.cases.push_back(std::move(c));
    }
    if (!out_.cases.empty()) return;
    if (!serves_models(out_.what)) {
      out_.cases.push_back({"", base, {}, true});
      check_points(root_, out_.cases.back());
    } else if (base.models.empty()) {
      root_.refuse("model", "is missing; write [[model]], or a [[case]] with models");
    } else {
      out_.cases.push_back({"", base, {}, true});
      check_points(root_, out_.cases.back());
    }
  }

  /// Checks that every value of every axis gives a scenario that can be served and has the keys that its
  /// measure needs.
  void check_points(section& s, const experiment_case& c) {
    if (c.base.llm && out_.what != measure::llm)
      s.refuse("llm", fmt::format("the measure {} ignores it; remove it, or set measure = \"llm\"",
                                  measure_names[static_cast<size_t>(out_.what)]));
    if (!c.base.llm && out_.what == measure::llm) s.refuse("llm", "is missing; the measure llm needs it");
    if (c.base.latency.has_value() != (out_.what == measure::latency))
      s.refuse("latency", "is for the measure latency, which needs it");
    if (c.base.scaling.has_value() != (out_.what == measure::scaling))
      s.refuse("scaling", "is for the measure scaling, which needs it");
    else if (c.base.scaling)
      check_rates(s, *c.base.scaling);
    if (c.base.chain.has_value() != (out_.what == measure::chain))
      s.refuse("chain", "is for the measure chain, which needs it");
    if (!serves_models(out_.what)) return;
    bool rate = c.base.rate_rps.has_value();
    for (size_t i = 0; i < out_.axes.size(); ++i) {
      const auto& a = out_.axes[i];
      const auto* p = parameter_named(a.parameter);
      if (p == nullptr) continue;
      rate = rate || a.parameter == "rate_rps";
      const auto own = c.values.find(a.parameter);
      for (const double x : own == c.values.end() ? a.values : own->second) {
        auto point = c.base;
        p->set(point, x);
        if (const auto why = impossible(point); !why.empty() && impossible(c.base).empty()) {
          auto& where = own == c.values.end() ? *axes_.tables[i] : s;
          where.refuse("values", fmt::format("with {} = {}: {}", a.parameter, x, why));
          break;
        }
      }
    }
    const bool needs = out_.what != measure::goodput && out_.what != measure::scheduler;
    if (needs && !rate && axes_.complete)
      s.refuse("rate_rps", fmt::format("is missing; the measure {} needs one, here or as an axis",
                                       measure_names[static_cast<size_t>(out_.what)]));
    if (out_.what == measure::scheduler && c.base.models.size() > 1)
      s.refuse("model", "the measure scheduler serves copies of one model; remove the others");
    if (out_.what == measure::timeline && !c.base.load)
      s.refuse("changing_load", "is missing; the measure timeline needs it");
  }

  void check_rates(section& s, const scaling_setup& t) {
    for (const auto& p : out_.policies)
      if (const auto why = missing_rate(t, p); !why.empty()) {
        s.refuse("scaling", why);
        return;
      }
  }

  section& root_;
  const std::filesystem::path directory_;
  section* head_ = nullptr;  // [experiment], if there is one
  axes_reading axes_;
  std::string needs_timeout_;  // a policy that cannot run without `timeout_percent`
  experiment out_;
};

}  // namespace

experiment_reading read_experiment(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text.error.empty()) return {{}, {about_file(file.string(), text.error)}};
  return read_experiment_text(text.content, file.string());
}

experiment_reading read_experiment_text(std::string_view text, const std::string& file) {
  reader in{text, file};
  experiment_reading out;
  out.spec = experiment_reader{in, file}.read();
  out.problems = in.finish();
  return out;
}

}  // namespace troupe::lab

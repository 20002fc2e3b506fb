#include "config/workload_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "config/changes.hpp"
#include "config/faults.hpp"
#include "config/reader.hpp"
#include "config/text_file.hpp"

namespace troupe {

namespace {

constexpr double day_s = 86'400;
constexpr double one_hour_ms = 3.6e6;
constexpr double max_load_rps = 1e9;
constexpr double max_load_scale = 1e6;

/// Arrivals and rows: at the top of the file for all models, or for one. `load` starts as `fallback`.
void read_shape(section& s, model_load& load, const model_load& fallback) {
  static constexpr std::array<std::string_view, 2> names{"poisson", "constant"};
  if (s.has_table("arrivals")) {
    load.arrivals = arrival_kind::gamma;
    load.gamma_cv = s.table("arrivals")->number("gamma_cv", "a number", 0.01, 100);
  } else if (!s.has("arrivals") && fallback.arrivals == arrival_kind::gamma) {
    s.unused("arrivals");
  } else {
    const auto otherwise = fallback.arrivals == arrival_kind::constant ? 1 : 0;
    load.arrivals = static_cast<arrival_kind>(
        s.choice("arrivals", names, otherwise, "\"poisson\", \"constant\" or { gamma_cv }"));
  }
  load.rows = static_cast<uint32_t>(s.integer("rows", 1, 65536, fallback.rows));
}

/// The share of the total rate that each model gets.
std::vector<double> read_popularity(section& root, const std::vector<model_spec>& models) {
  static constexpr std::array<std::string_view, 2> names{"weights", "equal"};
  std::vector<double> share(models.size(), 1);
  if (root.has_table("popularity")) {
    const double exponent = root.table("popularity")->number("zipf", "a number", 0, 10);
    for (size_t i = 0; i < share.size(); ++i) share[i] = std::pow(static_cast<double>(i + 1), -exponent);
  } else if (root.choice("popularity", names, 0, "\"weights\", \"equal\" or { zipf }") == 0) {
    for (size_t i = 0; i < share.size(); ++i) share[i] = models[i].weight;
  }
  double total = 0;
  for (const double x : share) total += x;
  if (total <= 0) {
    root.refuse("popularity",
                "the weights of all models are 0; use \"equal\" or give weights in the cluster file");
    return share;
  }
  for (double& x : share) x /= total;
  return share;
}

class load_reader {
 public:
  explicit load_reader(const cluster_spec& cluster) : cluster_(cluster) {
    for (const auto& m : cluster.models) names_.push_back(m.name);
  }

  std::vector<model_load> read(section& root) {
    model_load base;
    read_shape(root, base, {});
    for (uint32_t i = 0; i < cluster_.models.size(); ++i) {
      auto load = base;
      load.model = model_id{i};
      load.slo = cluster_.models[i].slo;
      load.latency = cluster_.models[i].latency;
      loads_.push_back(load);
    }
    read_total(root);
    std::map<size_t, uint32_t> lines;
    for (auto* s : root.tables("model")) {
      const auto known = s->choice("name", names_);
      if (!known) {
        model_load unused;
        model_spec anything;
        anything.max_batch = UINT32_MAX;
        read_model(*s, unused, anything);
        continue;
      }
      const auto i = *known;
      if (const auto [first, fresh] = lines.emplace(i, s->at("name").line); !fresh) {
        s->refuse("name", fmt::format("model '{}' already has its load in line {}; remove one", names_[i],
                                      first->second));
      }
      read_model(*s, loads_[i], cluster_.models[i]);
    }
    for (size_t i = 0; i < loads_.size(); ++i) {
      if (!lines.contains(i)) check_rows(root, loads_[i], cluster_.models[i]);
    }
    check_rates(root);
    return std::move(loads_);
  }

 private:
  void read_total(section& root) {
    total_given_ = root.has("rate_rps");
    if (!total_given_) {
      root.unused("rate_rps");
      root.unused("popularity", "divides a total rate; give rate_rps too");
      return;
    }
    const double total = root.number("rate_rps", "requests a second", 0, max_load_rps);
    const auto share = read_popularity(root, cluster_.models);
    for (size_t i = 0; i < loads_.size(); ++i) loads_[i].rate_rps = total * share[i];
  }

  void read_model(section& s, model_load& load, const model_spec& model) {
    if (!total_given_) {
      load.rate_rps = s.number("rate_rps", "requests a second", 0, max_load_rps);
    } else {
      s.unused("rate_rps", "the file has a total rate_rps already; remove one of the two");
    }
    read_shape(s, load, model_load{load});
    load.slo = s.milliseconds("slo_ms", 0.001, one_hour_ms, to_ms(load.slo));
    const bool alpha = s.has("alpha_ms");
    if (alpha != s.has("beta_ms")) {
      s.refuse(alpha ? "alpha_ms" : "beta_ms", "alpha_ms and beta_ms go together; give both or none");
    }
    load.latency.alpha = s.milliseconds("alpha_ms", 0, one_hour_ms, to_ms(load.latency.alpha));
    load.latency.beta = s.milliseconds("beta_ms", 0, one_hour_ms, to_ms(load.latency.beta));
    check_rows(s, load, model);
  }

  static void check_rows(section& s, const model_load& load, const model_spec& model) {
    if (load.rate_rps <= 0 || load.rows <= model.max_batch) return;
    s.refuse("rows", fmt::format("{} rows do not fit into a batch of model '{}' (max_batch = {})", load.rows,
                                 model.name, model.max_batch));
  }

  void check_rates(section& root) {
    double total = 0;
    for (const auto& l : loads_) total += l.rate_rps;
    if (total > 0) return;
    root.refuse("rate_rps", root.has("rate_rps") || root.has("model")
                                ? "every rate is 0; give at least one model a rate above 0"
                                : "is missing; give a total here, or one for each [[model]]");
  }

  const cluster_spec& cluster_;
  std::vector<std::string_view> names_;
  std::vector<model_load> loads_;
  bool total_given_ = false;
};

/// The share of each of the cluster's tenants: equal unless the workload says otherwise.
std::vector<double> read_tenant_shares(section& root, const cluster_spec& cluster) {
  std::vector<std::string_view> names;
  for (const auto& t : cluster.tenants) names.push_back(t.name);
  std::vector<double> shares(names.size(), 1);
  for (auto* s : root.tables("tenant")) {
    const auto known = s->choice("name", names);
    const double share = s->number("share", "a number", 0, 1e9);
    if (known) shares[*known] = share;
  }
  double total = 0;
  for (const double x : shares) total += x;
  if (total <= 0 && !shares.empty())
    root.refuse("tenant", "every share is 0; give at least one tenant a share above 0");
  for (double& x : shares) x /= total > 0 ? total : 1;
  return shares;
}

std::vector<rate_segment> read_segments(section& root, const workload_spec& workload) {
  double base_rps = 0;
  for (const auto& l : workload.models) base_rps += l.rate_rps;
  std::vector<rate_segment> out;
  for (auto* s : root.tables("segment")) {
    rate_segment seg;
    seg.at = s->seconds("at_s", 0, 7 * day_s);
    if (!out.empty() && seg.at <= out.back().at) {
      s->refuse("at_s",
                fmt::format("must be later than the segment before it, at {}", to_seconds(out.back().at)));
    }
    if (s->has("rate_rps") == s->has("scale")) {
      s->refuse("give either rate_rps or scale");
      s->unused("rate_rps");
      s->unused("scale");
    } else if (s->has("scale")) {
      seg.scale = s->number("scale", "a number", 0, max_load_scale);
      s->unused("rate_rps");
    } else {
      const double rps = s->number("rate_rps", "requests a second", 0, max_load_rps);
      seg.scale = base_rps > 0 ? rps / base_rps : 0;
      s->unused("scale");
      if (seg.scale > max_load_scale)
        s->refuse("rate_rps", fmt::format("{} requests a second are more than {} times the initial rates, {} "
                                          "in total; raise those, or lower this",
                                          rps, max_load_scale, base_rps));
    }
    out.push_back(seg);
  }
  return out;
}

}  // namespace

workload_reading read_workload(const std::filesystem::path& file, const cluster_spec& cluster) {
  const auto text = read_text_file(file);
  if (!text.error.empty()) {
    workload_reading out;
    out.problems = {about_file(file.string(), text.error)};
    return out;
  }
  return read_workload_text(text.content, file.string(), cluster);
}

workload_reading read_workload_text(std::string_view text, const std::string& file,
                                    const cluster_spec& cluster) {
  workload_reading out;
  if (cluster.models.empty()) {
    out.problems = {about_file(
        file,
        "needs a [[model]] in the cluster file: language models cannot be simulated with a workload file")};
    return out;
  }
  reader in{text, file};
  auto& root = in.root();
  auto& spec = out.spec;
  spec.seed = static_cast<uint64_t>(root.integer("seed", 0, INT64_MAX, 1));
  spec.length = root.seconds("duration_s", 0.001, 7 * day_s);
  spec.warmup = root.seconds("warmup_s", 0, 7 * day_s, 0);
  if (root.has("duration_s") && spec.warmup >= spec.length) {
    root.refuse("warmup_s", "must be shorter than duration_s, which includes it");
  }
  spec.models = load_reader{cluster}.read(root);
  spec.tenants = read_tenant_shares(root, cluster);
  spec.segments = read_segments(root, spec);
  read_changes(root, cluster, std::filesystem::path(file).parent_path(), spec);
  spec.faults = read_faults(root, cluster, spec.length);
  spec.random_faults = read_random_faults(root);
  spec.clocks = read_clocks(root);
  out.problems = in.finish();
  out.effective = in.effective();
  return out;
}

}  // namespace troupe

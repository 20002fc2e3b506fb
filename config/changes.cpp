#include "config/changes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/sections.hpp"

namespace troupe {

namespace {

constexpr double one_day_s = 86'400;
constexpr double max_change_rps = 1e9;

duration read_time(section& s, duration length) {
  const auto at = s.seconds("at_s", 0, 7 * one_day_s);
  if (at >= length)
    s.refuse("at_s",
             fmt::format("must be less than duration_s = {}, the end of the run", to_seconds(length)));
  return at;
}

}  // namespace

void read_changes(section& root, const cluster_spec& cluster, const std::filesystem::path& directory,
                  workload_spec& out) {
  std::vector<std::string> models;
  for (const auto& m : cluster.models) models.push_back(m.name);
  const auto deploys = root.tables("deploy");
  for (auto* s : deploys) {
    change_event e;
    e.at = read_time(*s, out.length);
    const auto given = s->peek("name");
    if (std::find(models.begin(), models.end(), given) != models.end()) {
      e.what = change_event::kind::redeploy;
      e.model.name = s->name("name");
    } else {
      const auto problems_before = root.owner().problem_count();
      e.model = read_model(*s, cluster, directory);
      const bool is_right = root.owner().problem_count() == problems_before;
      if (is_right && e.model.latency == latency_model{})
        s->refuse("profile", "a simulation cannot measure a profile; give { alpha_ms, beta_ms }");
      model_load load;
      load.model = model_id{static_cast<uint32_t>(models.size())};
      load.rate_rps = s->number("rate_rps", "requests a second", 0, max_change_rps);
      load.from = e.at;
      load.rows = static_cast<uint32_t>(s->integer("rows", 1, e.model.max_batch, 1));
      load.slo = e.model.slo;
      load.latency = e.model.latency;
      out.models.push_back(load);
      models.push_back(e.model.name);
    }
    out.changes.push_back(e);
  }
  const std::vector<std::string_view> known(models.begin(), models.end());
  for (auto* s : root.tables("undeploy")) {
    change_event e;
    e.what = change_event::kind::undeploy;
    e.at = read_time(*s, out.length);
    if (const auto m = s->choice("name", known)) e.model.name = models[*m];
    out.changes.push_back(e);
  }
  std::vector<std::string_view> domains;
  for (const auto& d : cluster.domains) domains.push_back(d.name);
  for (auto* s : root.tables("migrate")) {
    change_event e;
    e.what = change_event::kind::move;
    e.at = read_time(*s, out.length);
    if (const auto m = s->choice("name", known)) e.model.name = models[*m];
    if (domains.empty()) {
      s->refuse("the cluster has no [[domain]] to move a model to");
      s->unused("domain");
    } else if (const auto d = s->choice("domain", domains)) {
      e.domain = domains[*d];
    }
    out.changes.push_back(e);
  }
  std::vector<std::string_view> nodes;
  for (const auto& n : cluster.nodes) nodes.push_back(n.name);
  for (auto* s : root.tables("drain")) {
    change_event e;
    e.what = change_event::kind::drain;
    e.at = read_time(*s, out.length);
    e.node = node_id{static_cast<uint32_t>(s->choice("node", nodes).value_or(0))};
    e.back_after = s->seconds("back_after_s", 0, 7 * one_day_s, 0);
    out.changes.push_back(e);
  }
  std::stable_sort(out.changes.begin(), out.changes.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
}

}  // namespace troupe

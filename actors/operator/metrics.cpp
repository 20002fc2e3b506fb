#include "actors/operator/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <caf/all.hpp>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/commands/run_command.hpp"
#include "messages/operator/commands.hpp"

namespace troupe {

metrics::metrics(handle::pointer self, post& post, std::function<void(std::vector<metric>&)> more)
    : self_(self), post_(post), more_(std::move(more)) {}

metrics::handle::behavior_type metrics::make_behavior() {
  return {survive_exceptions(this, &metrics::on_query), survive_exceptions(this, &metrics::on_command),
          survive_exceptions(this, &metrics::on_report), survive_exceptions(this, &metrics::on_time)};
}

void metrics::on_query(const report_query& q) {
  const auto number = ++last_;
  const handle me{self_};
  const report_query ask{[me, number](group_report r) { caf::anon_send(me, std::move(r), number); }};
  size_t asked = post_.caf_hosts().size();
  for (const auto& caf_host : post_.caf_hosts()) caf::anon_send(caf_host, ask);
  if (const auto& node = post_.node_actor()) ++asked, caf::anon_send(node, ask);
  if (const auto& deployer = post_.deployer_actor()) ++asked, caf::anon_send(deployer, ask);
  open_.push_back({number, q.reply, asked, {}});
  self_->delayed_send(self_, std::chrono::seconds(1), wake_atom_v, number);
  if (asked == 0) finish(number);
}

void metrics::on_command(const command_query& q) {
  const auto answer = [q](const group_report& r) {
    q.reply(run_command(metrics_commands{}, q.what, [&](const get_metrics&) {
      metric_list out;
      for (const auto& m : r.metrics) {
        metric_value f{m.name, {}, m.value};
        for (const auto& [key, text] : m.labels) f.labels += (f.labels.empty() ? "" : ",") + key + "=" + text;
        out.metrics.push_back(std::move(f));
      }
      return out;
    }));
  };
  on_query(report_query{answer});
}

void metrics::on_report(const group_report& r, uint64_t number) {
  const auto it = std::find_if(open_.begin(), open_.end(), [&](const auto& g) { return g.number == number; });
  if (it == open_.end()) return;
  it->sum.actors.insert(it->sum.actors.end(), r.actors.begin(), r.actors.end());
  it->sum.statuses.insert(it->sum.statuses.end(), r.statuses.begin(), r.statuses.end());
  it->sum.metrics.insert(it->sum.metrics.end(), r.metrics.begin(), r.metrics.end());
  it->sum.unfinished += r.unfinished;
  if (--it->missing == 0) finish(number);
}

void metrics::finish(uint64_t number) {
  const auto it = std::find_if(open_.begin(), open_.end(), [&](const auto& g) { return g.number == number; });
  if (it == open_.end()) return;
  auto done = std::move(*it);
  open_.erase(it);
  more_(done.sum.metrics);
  done.reply(std::move(done.sum));
}

namespace {

/// Buckets of Prometheus are cumulative.
prometheus::ClientMetric::Histogram to_prometheus(const histogram& h) {
  prometheus::ClientMetric::Histogram out;
  out.sample_count = h.count();
  out.sample_sum = h.sum();
  uint64_t sum = 0;
  for (size_t i = 0; i < h.bounds().size(); ++i) out.bucket.push_back({sum += h.counts()[i], h.bounds()[i]});
  out.bucket.push_back({h.count(), std::numeric_limits<double>::infinity()});
  return out;
}

/// Adds a quantile, a sum or a count to the summary with the same other labels.
void add_to_summary(std::map<std::string, prometheus::MetricFamily>& families, const metric& m) {
  const auto is = [&](std::string_view suffix) { return m.name.ends_with(suffix); };
  const std::string name = m.name.substr(0, m.name.size() - (is("_sum") ? 4 : is("_count") ? 6 : 0));
  std::vector<prometheus::ClientMetric::Label> labels;
  double quantile = 0;
  for (const auto& [key, text] : m.labels)
    if (key == "quantile")
      quantile = std::stod(text);
    else
      labels.push_back({key, text});
  auto& family = families[name];
  family.name = name;
  family.type = prometheus::MetricType::Summary;
  auto found = std::ranges::find(family.metric, labels, &prometheus::ClientMetric::label);
  if (found == family.metric.end()) {
    found = family.metric.emplace(found);
    found->label = std::move(labels);
  }
  if (is("_sum"))
    found->summary.sample_sum = m.value;
  else if (is("_count"))
    found->summary.sample_count = static_cast<uint64_t>(m.value);
  else
    found->summary.quantile.push_back({quantile, m.value});
}

}  // namespace

std::string to_prometheus(const std::vector<metric>& metrics) {
  std::map<std::string, prometheus::MetricFamily> families;
  for (const auto& m : metrics) {
    if (m.type == metric::kind::summary) {
      add_to_summary(families, m);
      continue;
    }
    auto& family = families[m.name];
    family.name = m.name;
    prometheus::ClientMetric value;
    for (const auto& [key, text] : m.labels) value.label.push_back({key, text});
    if (m.type == metric::kind::counter) {
      family.type = prometheus::MetricType::Counter;
      value.counter.value = m.value;
    } else if (m.type == metric::kind::histogram && m.distribution) {
      family.type = prometheus::MetricType::Histogram;
      value.histogram = to_prometheus(*m.distribution);
    } else {
      family.type = prometheus::MetricType::Gauge;
      value.gauge.value = m.value;
    }
    family.metric.push_back(std::move(value));
  }
  std::vector<prometheus::MetricFamily> list;
  for (auto& [key, family] : families) list.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(list);
}

}  // namespace troupe

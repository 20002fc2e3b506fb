#include "actors/console.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "messages/version.hpp"

namespace troupe {

console::console(handle::pointer self, facts f) : self_(self), facts_(std::move(f)) {}

console::handle::behavior_type console::make_behavior() {
  return {forgiving(this, &console::on_command), forgiving(this, &console::on_report)};
}

caf::result<command_reply> console::on_command(const command& c) {
  if (c.verb == deploy::type_name) return pass_on<deploy>(c);
  if (c.verb == redeploy::type_name) return pass_on<redeploy>(c);
  if (c.verb == undeploy::type_name) return pass_on<undeploy>(c);
  if (c.verb == drain_node::type_name) return pass_on<drain_node>(c);
  if (c.verb != "status")
    return command_reply{
        c.token, false,
        "unknown command '" + c.verb + "'; this node knows: status, deploy, redeploy, undeploy, drain_node"};
  if (asked_.size() >= max_asked)
    return command_reply{c.token, false, "this node answers other commands; try again"};
  auto promise = self_->make_response_promise<command_reply>();
  const auto number = ++last_;
  asked_.push_back({number, c.token, promise});
  const handle me{self_};
  caf::anon_send(facts_.metrics,
                 report_query{[me, number](group_report r) { caf::anon_send(me, std::move(r), number); }});
  return promise;
}

/// To the deployer, whose answer is the body.
template <class Change>
caf::result<command_reply> console::pass_on(const command& c) {
  Change change;
  try {
    change = from_json<Change>(nlohmann::json::parse(c.argument));
  } catch (const std::exception& e) {
    return command_reply{c.token, false, e.what()};
  }
  auto promise = self_->make_response_promise<command_reply>();
  self_->request(facts_.deployments, caf::infinite, std::move(change))
      .then(
          [promise, token = c.token](const change_reply& r) mutable {
            promise.deliver(command_reply{token, true, to_json(r).dump()});
          },
          [promise, token = c.token](const caf::error&) mutable {
            promise.deliver(command_reply{token, false, "the node is ending"});
          });
  return promise;
}

void console::on_report(const group_report& r, uint64_t number) {
  const auto it =
      std::find_if(asked_.begin(), asked_.end(), [&](const asked& a) { return a.number == number; });
  if (it == asked_.end()) return;
  nlohmann::json doc;
  doc["node"] = facts_.node;
  doc["life"] = facts_.life();
  doc["ready"] = facts_.ready();
  doc["version"] = version;
  doc["cluster_hash"] = facts_.cluster_hash;
  doc["models"] = nlohmann::json::array();
  for (const auto& m : facts_.models.all())
    doc["models"].push_back({{"name", m.name}, {"slots", m.slots}, {"slo_ms", to_ms(m.slo)}});
  doc["actors"] = nlohmann::json::array();
  for (const auto& a : r.actors)
    doc["actors"].push_back(std::string(to_string(a.kind)) + " " + std::to_string(a.index));
  doc["unfinished"] = r.unfinished;
  doc["metrics"] = nlohmann::json::array();
  for (const auto& m : r.metrics) {
    nlohmann::json labels = nlohmann::json::object();
    for (const auto& [key, value] : m.labels) labels[key] = value;
    doc["metrics"].push_back({{"name", m.name}, {"labels", labels}, {"value", m.value}});
  }
  it->answer.deliver(command_reply{it->token, true, doc.dump()});
  asked_.erase(it);
}

}  // namespace troupe

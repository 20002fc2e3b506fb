#include "actors/operator/console.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <caf/all.hpp>
#include <nlohmann/json.hpp>

#include "actors/kinds/registry.hpp"
#include "actors/operator/actor_name.hpp"
#include "actors/operator/console_command.hpp"
#include "messages/commands/command_schema.hpp"
#include "messages/commands/run_command.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/near.hpp"
#include "messages/common/version.hpp"
#include "messages/operator/commands.hpp"

namespace troupe {
namespace {

/// The `wait` of a checked command that changes deployments; zero for other commands.
duration wait_of(const command& c) {
  duration wait{};
  const auto read = [&]<class Change>(std::type_identity<Change>) {
    if (c.verb == Change::type_name) wait = message_of<Change>(c).wait;
  };
  read(std::type_identity<deploy>{});
  read(std::type_identity<redeploy>{});
  read(std::type_identity<undeploy>{});
  read(std::type_identity<move_model>{});
  return std::clamp<duration>(wait, duration{}, 24h);
}

}  // namespace

console::console(handle::pointer self, facts f)
    : self_(self), facts_(std::move(f)), last_(facts_.incarnation()) {}

console::handle::behavior_type console::make_behavior() {
  return {survive_exceptions(this, &console::on_command), survive_exceptions(this, &console::on_frame),
          survive_exceptions(this, &console::on_answer), survive_exceptions(this, &console::on_report),
          survive_exceptions(this, &console::on_time)};
}

void console::on_answer(const command_reply& r, uint64_t number) {
  if (!r.ok && r.body.empty()) return query(number);  // the answer names the existing actors
  answer(number, r.ok, r.body);
}

void console::on_time(wake_atom, uint64_t number) {
  const auto* o = find(number);
  if (o == nullptr) return;
  const auto who = o->actor.empty() ? "the actors of the node" : "'" + o->actor + "'";
  answer(number, false,
         fmt::format("{} did not answer within {:g} s: the node is down, frozen or very busy", who,
                     to_seconds(o->limit)));
}

caf::result<command_reply> console::on_command(const command& c) {
  auto promise = self_->make_response_promise<command_reply>();
  begin(c, promise);
  return promise;
}

void console::on_frame(const control_frame& f) {
  if (f.body.match_elements<command>()) return begin(f.body.get_as<command>(0), f.from);
  if (!f.body.match_elements<command_reply>()) return;
  const auto& r = f.body.get_as<command_reply>(0);
  answer(r.token, r.ok, r.body);
}

void console::begin(const command& c, requester who) {
  const bool from_console = std::holds_alternative<address>(who);
  const auto number = ++last_;
  open_.push_back({number, c.token, std::move(who), c.verb, {}});
  const auto refuse = [&](std::string why) {
    ++refused_;
    answer(number, false, std::move(why));
  };
  if (open_.size() > max_open) return refuse("too many commands are in progress at this node; try again");
  if (c.argument.size() > longest_command)
    return refuse("the command is longer than " + std::to_string(longest_command) + " bytes; shorten it");
  if (c.verb == "status" || c.verb == "actors")
    query(number);
  else if (c.verb == "ask" || c.verb == "tell")
    give_order(c, number, from_console);
  else if (command_schema(role::deployer).contains(c.verb))
    to_deployer(c, number);
  else
    return refuse(
        "unknown command '" + c.verb +
        "'; this node knows: status, actors, ask, tell, deploy, redeploy, undeploy, move_model, drain_node");
  if (const auto* o = find(number); o != nullptr && o->limit > duration{})
    self_->delayed_send(self_, o->limit, wake_atom_v, number);
}

/// Without a time limit of the console: the deployer answers within the command's `wait`.
void console::to_deployer(const command& c, uint64_t number) {
  find(number)->limit = {};
  const auto pass_on = [&]<class Change>(std::type_identity<Change>) {
    if (c.verb != Change::type_name) return;
    self_->request(facts_.deployments, caf::infinite, message_of<Change>(c))
        .then([this, number](const change_reply& r) { answer(number, true, json_text(to_json(r))); },
              [this, number](const caf::error&) { answer(number, false, "the node is shutting down"); });
  };
  try {
    pass_on(std::type_identity<deploy>{});
    pass_on(std::type_identity<redeploy>{});
    pass_on(std::type_identity<undeploy>{});
    pass_on(std::type_identity<move_model>{});
    pass_on(std::type_identity<drain_node>{});
  } catch (const json_error& e) {
    answer(number, false, e.what());
  }
}

void console::give_order(const command& c, uint64_t number, bool from_console) {
  const auto model = [&](std::string_view called) {
    const auto e = facts_.models.find(called);
    return e ? std::optional(e->model) : std::nullopt;
  };
  auto read = read_order(c, facts_.cluster, {model, may_run_on});
  if (const auto* problem = std::get_if<std::string>(&read)) return answer(number, false, *problem);
  auto& [to, actor, what] = std::get<console_command>(read);
  find(number)->actor = actor;
  if (to.node != facts_.self) {
    if (from_console) return answer(number, false, "the actor is not on this node");
    // A scheduler that has just started decides only after three node timeouts.
    if (to.kind == role::deployer)
      find(number)->limit += wait_of(what) + 3 * facts_.cluster.limits.node_timeout;
    auto body = c;
    body.token = number;
    return facts_.control.send({me(), {to.node, {}, role::console, 0}, caf::make_message(std::move(body))});
  }
  const handle self{self_};
  const bool wait = c.verb == "ask";
  // A `tell` also stays open until the actor has taken the command: nothing else bounds the commands that
  // wait for an actor.
  const auto reply = [self, number, wait](command_reply r) {
    const bool taken = r.ok || !r.body.empty();
    if (!wait && taken) r = {r.token, true, "{}"};
    caf::anon_send(self, std::move(r), number);
  };
  if (to.kind == role::console) {
    const auto r = run_command(console_commands{}, what, [&](const get_state&) {
      return console_state{static_cast<uint32_t>(open_.size()), max_open, answered_, refused_};
    });
    return answer(number, r.ok, r.body);
  }
  if (to.kind == role::deployer) {
    to_deployer(what, number);  // the deployer bounds its open commands
    if (!wait) answer(number, true, "{}");
  } else if (const auto other = facts_.others.find(to.kind); other != facts_.others.end()) {
    other->second({to, std::move(what), reply});
  } else if (!facts_.post.ask(to, std::move(what), reply)) {
    query(number);  // the answer names the existing actors
  }
}

void console::query(uint64_t number) {
  const handle self{self_};
  caf::anon_send(facts_.metrics, report_query{[self, number](group_report r) {
                   caf::anon_send(self, std::move(r), number);
                 }});
}

void console::on_report(const group_report& r, uint64_t number) {
  const auto* o = find(number);
  if (o == nullptr) return;
  if (o->verb == "status") return answer(number, true, json_text(status_of(r)));
  if (o->verb == "actors") return answer(number, true, json_text(actors_of(r)));
  answer(number, false, no_such_actor(o->actor, r));
}

void console::answer(uint64_t number, bool ok, std::string body) {
  const auto it = std::find_if(open_.begin(), open_.end(), [&](const open& o) { return o.number == number; });
  if (it == open_.end()) return;
  if (body.size() > longest_answer) {
    ok = false;
    body = "the answer is longer than " + std::to_string(longest_answer >> 20) + " MiB; ask for less";
  }
  command_reply r{it->token, ok, std::move(body)};
  if (auto* tool = std::get_if<caf::typed_response_promise<command_reply>>(&it->who))
    tool->deliver(std::move(r));
  else
    facts_.control.send({me(), std::get<address>(it->who), caf::make_message(std::move(r))});
  ++answered_;
  open_.erase(it);
}

void console::forget() {
  while (!open_.empty())
    answer(open_.front().number, false, "the console failed and dropped this command; try again");
}

console::open* console::find(uint64_t number) {
  const auto it = std::find_if(open_.begin(), open_.end(), [&](const open& o) { return o.number == number; });
  return it == open_.end() ? nullptr : &*it;
}

address console::me() const { return {facts_.self, incarnation_id{facts_.incarnation()}, role::console, 0}; }

nlohmann::json console::status_of(const group_report& r) const {
  nlohmann::json doc;
  doc["node"] = node_name(facts_.cluster, facts_.self);
  doc["incarnation"] = facts_.incarnation();
  doc["ready"] = facts_.ready();
  doc["version"] = version;
  doc["cluster_hash"] = facts_.cluster.hash;
  doc["models"] = nlohmann::json::array();
  for (const auto& m : facts_.models.all())
    doc["models"].push_back({{"name", m->name},
                             {"slots", m->slots},
                             {"slo_ms", to_ms(m->slo)},
                             {"engine", to_string(m->engine)}});
  doc["actors"] = nlohmann::json::array();
  for (const auto& a : r.actors) doc["actors"].push_back(actor_name(facts_.cluster, a));
  for (const auto& m : r.metrics) {  // reported by the node actor, with standbys
    if (m.name == "troupe_scheduler_term")
      doc["leader"].update(
          {{"scheduler", m.labels.front().second}, {"term", static_cast<uint64_t>(m.value)}});
    if (m.name == "troupe_scheduler_takeovers_total" && doc.contains("leader"))
      doc["leader"]["takeovers"] = static_cast<uint32_t>(m.value);
  }
  doc["unfinished"] = r.unfinished;
  doc["metrics"] = nlohmann::json::array();
  for (const auto& m : r.metrics) {
    nlohmann::json labels = nlohmann::json::object();
    for (const auto& [key, value] : m.labels) labels[key] = value;
    doc["metrics"].push_back({{"name", m.name}, {"labels", labels}, {"value", m.value}});
  }
  return doc;
}

nlohmann::json console::actors_of(const group_report& r) const {
  auto rows = r.statuses;
  const auto waiting = self_->mailbox().size();
  rows.push_back({me(), "serving", answered_, waiting, waiting});
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.name.kind, a.name.index) < std::pair(b.name.kind, b.name.index);
  });
  nlohmann::json doc{{"node", node_name(facts_.cluster, facts_.self)},
                     {"incarnation", facts_.incarnation()},
                     {"restarts", facts_.restarts},
                     {"last_error", facts_.last_end}};
  doc["actors"] = nlohmann::json::array();
  const auto models = facts_.models.all();
  for (const auto& a : rows) {
    nlohmann::json row{{"name", actor_name(facts_.cluster, a.name)},
                       {"kind", to_string(a.name.kind)},
                       {"index", a.name.index},
                       {"state", a.state},
                       {"messages", a.messages},
                       {"pending", a.pending},
                       {"mailbox_pending", a.mailbox_pending}};
    if (a.name.kind == role::model_queue)
      for (const auto& m : models)
        if (m->model.value == a.name.index) row["model"] = m->name;
    doc["actors"].push_back(std::move(row));
  }
  return doc;
}

std::string console::no_such_actor(const std::string& actor, const group_report& r) const {
  std::vector<std::string> names;
  for (const auto& a : r.actors) names.push_back(actor_name(facts_.cluster, a));
  std::vector<std::string_view> known(names.begin(), names.end());
  return "there is no actor '" + actor + "'" + hint(actor, known);
}

}  // namespace troupe

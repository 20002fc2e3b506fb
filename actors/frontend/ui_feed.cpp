#include "actors/frontend/ui_feed.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>

#include "actors/frontend/ui_page.hpp"
#include "actors/frontend/ui_snapshot.hpp"
#include "actors/operator/actor_name.hpp"
#include "messages/common/json_text.hpp"
#include "messages/wire/json.hpp"

namespace troupe {

/// The watchers. Used by HTTP threads and by the asker.
class ui_feed::subscribers {
 public:
  /// True if the asker must be woken.
  bool add(http_reply reply) {
    const auto connected = std::make_shared<std::atomic<bool>>(true);
    std::lock_guard lock(mutex_);
    leave();
    if (over_ || subscriptions_.size() >= max_watchers) {
      reply.send(http_error_response(
          503, over_ ? "this node is shutting down" : "too many clients read this feed; try again later",
          10s));
      return false;
    }
    reply.on_cancel([connected] { *connected = false; });
    auto stream = reply.begin({.content_type = "text/event-stream",
                               .headers = {{"Cache-Control", "no-store"}},
                               .body = ": troupe\n\n"});
    subscriptions_.push_back({connected, std::move(stream)});
    return !std::exchange(asking_, true);
  }
  /// False: there is no watcher; the next one wakes the asker.
  bool watched() {
    std::lock_guard lock(mutex_);
    leave();
    return asking_ = !subscriptions_.empty();
  }
  void send(const std::string& event) {
    std::lock_guard lock(mutex_);
    leave();
    for (auto& s : subscriptions_) s.stream.write(event);
  }
  void end() {
    std::lock_guard lock(mutex_);
    over_ = true;
    for (auto& s : subscriptions_) s.stream.end();
    subscriptions_.clear();
  }

 private:
  struct subscription {
    std::shared_ptr<std::atomic<bool>> here;
    http_stream stream;
  };
  void leave() {
    std::erase_if(subscriptions_, [](const subscription& s) { return !*s.here; });
  }
  std::mutex mutex_;
  std::vector<subscription> subscriptions_;
  bool asking_ = false, over_ = false;
};

/// The state of the actor that asks. A round is a set of questions, one event and a pause.
class ui_feed::asker {
 public:
  asker(caf::event_based_actor* self, parts p, std::shared_ptr<subscribers> to)
      : self_(self), parts_(std::move(p)), subscribers_(std::move(to)), snapshot_(parts_.cluster) {}

  void begin() {
    if (!subscribers_->watched()) return;
    began_ = parts_.time.now();
    ++round_;
    now_ = {};
    now_.gateway = name(parts_.self);
    now_.models = parts_.models();
    const caf::actor me{self_};
    caf::anon_send(parts_.metrics, report_query{[me](group_report r) { caf::anon_send(me, std::move(r)); }});
    put({parts_.self, {}, role::node, 0}, "get_state", {},
        [this](const nlohmann::json& j) { on_node_state(from_json<node_state>(j)); });
    go_on();
  }

  /// Keeps the histograms of this node, which `get_metrics` leaves out.
  void on_report(const group_report& r) {
    times_.clear();
    for (const auto& m : r.metrics)
      if (m.distribution && m.name.starts_with("vllm:")) times_.push_back(m);
  }

 private:
  struct question {
    address to;
    const char* type;
    nlohmann::json fields;
    std::function<void(const nlohmann::json&)> take;
  };

  const std::string& name(node_id n) const { return node_name(parts_.cluster, n); }

  void put(address to, const char* type, nlohmann::json fields,
           std::function<void(const nlohmann::json&)> take) {
    if (fields.is_null()) fields = nlohmann::json::object();
    questions_.push_back({to, type, std::move(fields), std::move(take)});
  }

  /// Asks the nodes that are up; the others would only delay the round.
  void on_node_state(const node_state& s) {
    now_.nodes[s.node] = {"up", s.incarnation, {}};
    for (const auto& p : s.peers) now_.nodes[p.node] = {p.state, p.incarnation, {}};
    const auto& cluster = parts_.cluster;
    const auto up = [&](node_id n) {
      const auto it = now_.nodes.find(name(n));
      return it != now_.nodes.end() && (it->second.state == "up" || it->second.state == "leaving");
    };
    for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
      if (up({i}))
        put({{i}, {}, role::metrics, 0}, "get_metrics", {}, [this, i](const nlohmann::json& j) {
          auto& n = now_.nodes[name({i})];
          for (const auto& f : from_json<metric_list>(j).metrics) n.add(f);
        });
    for (uint32_t i = 0; i < cluster.slots.size(); ++i) ask_worker(i, up(cluster.slots[i].node));
    for (uint32_t i = 0; i < cluster.engines.size(); ++i) {
      const address engine{cluster.engines[i].node, {}, role::llm_engine, i};
      if (!up(engine.node)) {
        adapters_.erase(i);
        continue;
      }
      put(engine, "get_state", {},
          [this, i](const nlohmann::json& j) { now_.engines[i] = from_json<llm_engine_state>(j); });
      if (round_ % adapters_every == 1)
        put(engine, "list_adapters", {{"limit", max_adapters}, {"after", ""}},
            [this, i](const nlohmann::json& j) { adapters_[i] = from_json<adapter_list>(j); });
    }
  }

  void ask_worker(uint32_t slot, bool up) {
    if (!up) return;
    const auto node = parts_.cluster.slots[slot].node;
    auto& mine = seen_[slot];
    const auto incarnation = now_.nodes[name(node)].incarnation;
    if (mine.incarnation != incarnation) mine = {incarnation, 0};  // batches may be numbered anew
    put({node, {}, role::gpu_worker, slot}, "list_batches", {{"after", mine.last}, {"limit", 512}},
        [this, slot, incarnation](const nlohmann::json& j) {
          auto batches = from_json<past_batches>(j);
          if (!batches.batches.empty()) seen_[slot] = {incarnation, batches.batches.back().number};
          now_.batches[slot] = std::move(batches);
        });
  }

  void go_on() {
    while (!questions_.empty() && open_ < max_questions) {
      auto q = std::move(questions_.front());
      questions_.pop_front();
      const nlohmann::json order{
          {"actor", actor_name(parts_.cluster, q.to)}, {"type", q.type}, {"fields", std::move(q.fields)}};
      ++open_;
      // The console answers within its timeout, unless it has failed.
      self_->request(parts_.console_actor, 2 * console::timeout, command{0, "ask", json_text(order)})
          .then(
              [this, take = std::move(q.take)](const command_reply& r) {
                try {
                  if (r.ok) take(nlohmann::json::parse(r.body));
                } catch (const std::exception&) {  // a node of another version: its values are left out
                }
                answered();
              },
              [this](const caf::error&) { answered(); });
    }
  }

  void answered() {
    --open_;
    go_on();
    if (open_ > 0) return;
    now_.at = parts_.time.now();
    now_.adapters = adapters_;
    auto& own = now_.nodes[now_.gateway];
    for (const auto& m : times_) {
      own.add(m.name + "_sum", m.labels, m.distribution->sum());
      own.add(m.name + "_count", m.labels, static_cast<double>(m.distribution->count()));
    }
    subscribers_->send("data: " + json_text(snapshot_.fold(std::move(now_))) + "\n\n");
    const duration pause = std::max<duration>(interval - (parts_.time.now() - began_), interval / 5);
    self_->delayed_send(self_, pause, wake_atom_v);
  }

  caf::event_based_actor* self_;
  parts parts_;
  std::shared_ptr<subscribers> subscribers_;
  ui_snapshot snapshot_;
  ui_sample now_;
  time_point began_{};
  uint32_t round_ = 0;
  std::deque<question> questions_;
  size_t open_ = 0;
  struct last_batch {
    incarnation_id incarnation;
    uint64_t last = 0;
  };
  std::map<uint32_t, last_batch> seen_;        // by slot
  std::map<uint32_t, adapter_list> adapters_;  // by engine
  std::vector<metric> times_;
};

ui_feed::ui_feed(parts p) : subscribers_(std::make_shared<subscribers>()) {
  auto& system = p.system;
  asker_ = system.spawn([p = std::move(p), to = subscribers_](caf::event_based_actor* self) -> caf::behavior {
    const auto state = std::make_shared<asker>(self, p, to);
    return {[state](wake_atom) { state->begin(); }, [state](const group_report& r) { state->on_report(r); }};
  });
}

void ui_feed::add_to(http_router& router) {
  router.add("GET", "/ui", [](auto, auto&, http_reply reply) { reply.send(ui_page_response()); });
  router.add("GET", "/ui/events", [this](auto, auto&, http_reply reply) {
    if (subscribers_->add(std::move(reply))) caf::anon_send(asker_, wake_atom_v);
  });
}

void ui_feed::stop() {
  subscribers_->end();
  caf::anon_send_exit(asker_, caf::exit_reason::kill);
}

}  // namespace troupe

// llm_catalog lists the language models of the cluster, their adapters and the latest status of their
// engines. The LLM gateway writes it, HTTP threads read it. Thread-safe.
#pragma once
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/llm/generation.hpp"

namespace troupe {

class llm_catalog {
 public:
  /// The meaning of a request's model name: a model of the cluster file, or an adapter of one.
  struct target {
    llm_id model;
    std::string adapter;  ///< empty: the base model
    bool up = false;      ///< an engine accepts requests, or is expected back
    uint32_t vocabulary = 0;
    uint32_t max_model_len = 0;  ///< tokens of prompt and answer

    bool knows(llm::token t) const { return t >= 0 && static_cast<uint32_t>(t) < vocabulary; }
    /// The first token outside the vocabulary.
    std::optional<llm::token> first_unknown_token(const std::vector<llm::token>& tokens) const {
      const auto found = std::ranges::find_if_not(tokens, [this](llm::token t) { return knows(t); });
      return found == tokens.end() ? std::nullopt : std::optional(*found);
    }
  };
  struct adapter {
    llm_id model;
    adapter_entry what;
  };

  explicit llm_catalog(const cluster_spec& cluster) {
    for (const auto& m : cluster.llms) {
      models_.push_back({m.name});
      models_.back().starts_on_demand = m.scales;
      models_.back().awaited = !m.scales || m.min_instances > 0;
    }
    for (const auto& e : cluster.engines) engines_.push_back({{}, e.model, false});
    for (uint32_t i = 0; i < engines_.size(); ++i) {
      engines_[i].said.model = engines_[i].model;
      engines_[i].said.engine = engine_id{i};
    }
  }

  /// True if the adapters of running or waiting sequences are others than before.
  bool update(engine_status s) {
    std::lock_guard lock(mutex_);
    if (s.engine.value >= engines_.size()) return false;
    auto& e = engines_[s.engine.value];
    const bool changed =
        e.said.running_adapters != s.running_adapters || e.said.waiting_adapters != s.waiting_adapters;
    auto& m = models_.at(e.model.value);
    e.up = s.ready;
    e.present = s.problem.empty();
    m.awaited = m.awaited && !s.ready;
    m.expected = m.expected && !s.ready;
    e.said = std::move(s);
    return changed;
  }
  void update(const adapters_known& news) {
    std::lock_guard lock(mutex_);
    if (news.engine.value >= engines_.size()) return;
    auto& m = models_.at(engines_[news.engine.value].model.value);
    auto& known = m.adapters;
    m.listed = m.listed || news.all;
    for (auto a = known.begin(); news.all && a != known.end();)
      a = a->second.leaves(news.engine) ? known.erase(a) : std::next(a);
    for (const auto& a : news.present) {
      auto& entry = known[a.name];
      entry.what = a;
      entry.engines.insert(news.engine);
    }
    for (const auto& name : news.gone)
      if (const auto a = known.find(name); a != known.end() && a->second.leaves(news.engine)) known.erase(a);
  }
  /// The engine is lost with its requests. Its adapters stay known until it reports again. If it is
  /// `expected` back, its model stays up until one of its engines is ready. True if running or waiting
  /// sequences had adapters.
  bool lose(engine_id id, bool expected = false) {
    std::lock_guard lock(mutex_);
    auto& e = engines_.at(id.value);
    auto& m = models_.at(e.model.value);
    m.expected = m.expected || (expected && e.up);
    const bool changed = !e.said.running_adapters.empty() || !e.said.waiting_adapters.empty();
    e.up = e.present = false;
    e.said.running = e.said.waiting = 0;
    e.said.kv_used = 0;
    e.said.running_adapters.clear();
    e.said.waiting_adapters.clear();
    e.said.on_device.names.clear();
    return changed;
  }

  /// Names of models take precedence over names of adapters.
  std::optional<target> find(std::string_view name) const {
    std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < models_.size(); ++i)
      if (models_[i].name == name) return target_of(i, {});
    for (uint32_t i = 0; i < models_.size(); ++i)
      if (models_[i].adapters.contains(name)) return target_of(i, std::string(name));
    return {};
  }
  /// Whether an engine of every model has told its adapters. Until then a name that `find` does not know may
  /// be an adapter's.
  bool knows_all_adapters() const {
    std::lock_guard lock(mutex_);
    return std::ranges::all_of(models_, &model::listed);
  }
  /// The adapters that other engines of its model have and this one lacks.
  std::vector<adapter_entry> lacking(engine_id id) const {
    std::lock_guard lock(mutex_);
    std::vector<adapter_entry> out;
    for (const auto& [_, a] : models_.at(engines_.at(id.value).model.value).adapters)
      if (!a.engines.contains(id)) out.push_back(a.what);
    return out;
  }
  /// Ordered by model, then by name.
  std::vector<adapter> adapters() const {
    std::lock_guard lock(mutex_);
    std::vector<adapter> out;
    for (uint32_t i = 0; i < models_.size(); ++i)
      for (const auto& [_, a] : models_[i].adapters) out.push_back({llm_id{i}, a.what});
    return out;
  }
  /// The latest status of each engine, by engine_id; `ready` is false for lost engines.
  std::vector<engine_status> engines() const {
    std::lock_guard lock(mutex_);
    std::vector<engine_status> out;
    for (const auto& e : engines_) {
      out.push_back(e.said);
      out.back().ready = e.up;
    }
    return out;
  }
  /// Whether sequences that begin alike share KV blocks of the engine.
  bool has_prefix_cache(engine_id id) const {
    std::lock_guard lock(mutex_);
    return engines_.at(id.value).said.prefix_cache;
  }
  /// True once every model has had a ready engine.
  bool every_model_was_served() const {
    std::lock_guard lock(mutex_);
    return std::ranges::none_of(models_, &model::awaited);
  }

 private:
  struct known_adapter {
    adapter_entry what;
    std::set<engine_id> engines;  ///< engines that have it
    /// Removes an engine; true: it was the last one.
    bool leaves(engine_id id) { return engines.erase(id) > 0 && engines.empty(); }
  };
  struct model {
    std::string name;
    bool awaited = true;            ///< it has had no ready engine yet
    bool starts_on_demand = false;  ///< an engine that is up can be started for a request
    bool expected = false;          ///< an engine that was ready is expected back
    bool listed = false;            ///< an engine has told all its adapters
    std::map<std::string, known_adapter, std::less<>> adapters{};
  };
  struct engine {
    engine_status said;
    llm_id model;
    bool up = false;
    bool present = false;  ///< its node is up, and it can serve or be started
  };
  target target_of(uint32_t i, std::string name) const {
    target t{llm_id{i}, std::move(name), models_[i].expected, 0, 0};
    for (const auto& e : engines_) {
      if (e.model != llm_id{i}) continue;
      t.up = t.up || e.up || (models_[i].starts_on_demand && e.present);
      if (e.said.vocabulary == 0) continue;  // it has not reported yet
      t.max_model_len =
          t.vocabulary == 0 ? e.said.max_model_len() : std::min(t.max_model_len, e.said.max_model_len());
      t.vocabulary = e.said.vocabulary;
    }
    return t;
  }

  mutable std::mutex mutex_;
  std::vector<model> models_;
  std::vector<engine> engines_;
};

}  // namespace troupe

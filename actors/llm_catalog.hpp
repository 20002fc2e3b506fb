// llm_catalog: what a node knows of the language models that are served. Written by the gateway for them,
// read by HTTP threads.
#pragma once
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster.hpp"
#include "messages/generation.hpp"

namespace troupe {

class llm_catalog {
 public:
  /// What a request calls its model: one of the cluster file, or an adapter of one.
  struct target {
    llm_id model;
    std::string adapter;  ///< empty: the base model
    bool up = false;      ///< its engine takes requests
    uint32_t vocabulary = 0;
    uint32_t longest_text = 0;  ///< tokens of prompt and answer

    bool knows(llm::token t) const { return t >= 0 && static_cast<uint32_t>(t) < vocabulary; }
    /// The first that is not of the vocabulary.
    std::optional<llm::token> stranger_in(const std::vector<llm::token>& tokens) const {
      const auto found = std::ranges::find_if_not(tokens, [this](llm::token t) { return knows(t); });
      return found == tokens.end() ? std::nullopt : std::optional(*found);
    }
  };
  struct adapter {
    llm_id model;
    adapter_entry what;
  };

  explicit llm_catalog(const cluster_spec& cluster) {
    for (const auto& m : cluster.llms) models_.push_back({m.name, {}, false, true, {}});
  }

  void update(engine_status s) {
    std::lock_guard lock(mutex_);
    if (s.model.value >= models_.size()) return;
    auto& m = models_[s.model.value];
    m.up = s.ready;
    m.awaited = m.awaited && !s.ready;
    m.engine = std::move(s);
  }
  void update(const adapters_known& news) {
    std::lock_guard lock(mutex_);
    if (news.model.value >= models_.size()) return;
    auto& known = models_[news.model.value].adapters;
    if (news.all) known.clear();
    for (const auto& a : news.present) known[a.name] = a;
    for (const auto& name : news.gone) known.erase(name);
  }
  /// Its engine is gone, with all that it was doing. Its adapters are known until the next one tells.
  void lose(llm_id id) {
    std::lock_guard lock(mutex_);
    auto& m = models_.at(id.value);
    m.up = false;
    m.engine.running = m.engine.waiting = 0;
    m.engine.kv_used = 0;
    m.engine.running_adapters.clear();
    m.engine.waiting_adapters.clear();
  }

  /// A model's name goes before an adapter's.
  std::optional<target> find(std::string_view name) const {
    std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < models_.size(); ++i)
      if (models_[i].name == name) return target_of(i, {});
    for (uint32_t i = 0; i < models_.size(); ++i)
      if (models_[i].adapters.contains(name)) return target_of(i, std::string(name));
    return {};
  }
  /// In the order of models, then of names.
  std::vector<adapter> adapters() const {
    std::lock_guard lock(mutex_);
    std::vector<adapter> out;
    for (uint32_t i = 0; i < models_.size(); ++i)
      for (const auto& [_, a] : models_[i].adapters) out.push_back({llm_id{i}, a});
    return out;
  }
  /// By model: what its engine said last; `ready` false if it is gone.
  std::vector<engine_status> engines() const {
    std::lock_guard lock(mutex_);
    std::vector<engine_status> out;
    for (const auto& m : models_) {
      out.push_back(m.engine);
      out.back().ready = m.up;
    }
    return out;
  }
  /// Every engine has taken requests once.
  bool served_once() const {
    std::lock_guard lock(mutex_);
    return std::ranges::none_of(models_, &model::awaited);
  }

 private:
  struct model {
    std::string name;
    engine_status engine;
    bool up = false;
    bool awaited = true;  ///< it was never up
    std::map<std::string, adapter_entry, std::less<>> adapters;
  };
  target target_of(uint32_t i, std::string name) const {
    const auto& e = models_[i].engine;
    return {llm_id{i}, std::move(name), models_[i].up, e.vocabulary, e.longest_text()};
  }

  mutable std::mutex mutex_;
  std::vector<model> models_;
};

}  // namespace troupe

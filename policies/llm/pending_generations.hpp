// Generation requests that a gateway collects during a turn, to be sent to their engines in few messages.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messages/llm/generation.hpp"

namespace troupe {

class pending_generations {
 public:
  /// `engines`: of all models; each engine_id is below it.
  explicit pending_generations(size_t engines) : by_engine_(engines) {}

  void add(engine_id to, generation g) { by_engine_[to.value].requests.push_back(std::move(g)); }
  /// Withdraws a request that its engine does not know yet. Returns its offer; nothing: it was not pending.
  std::optional<kv_offer> withdraw(engine_id from, request_id id) {
    auto& all = by_engine_[from.value].requests;
    const auto known = std::ranges::find(all, id, &generation::id);
    if (known == all.end()) return {};
    std::optional out = std::move(known->kv);
    all.erase(known);
    return out;
  }
  void clear(engine_id of) { by_engine_[of.value].requests.clear(); }

  /// Calls `send(engine, generate)`, in the order of the engines; requests keep their order. Requests with
  /// more tokens than a frame holds go in several messages.
  template <class Send>
  void flush(Send&& send) {
    for (uint32_t i = 0; i < by_engine_.size(); ++i) {
      auto all = std::exchange(by_engine_[i], {});
      generate part;
      size_t tokens = 0;
      for (auto& g : all.requests) {
        const auto more = tokens_of(g);
        if (!part.requests.empty() && tokens + more > max_tokens_per_message) {
          send(engine_id{i}, std::exchange(part, {}));
          tokens = 0;
        }
        tokens += more;
        part.requests.push_back(std::move(g));
      }
      if (!part.requests.empty()) send(engine_id{i}, std::move(part));
    }
  }

 private:
  static constexpr size_t max_tokens_per_message = 1u << 20;  // frames are bounded

  static size_t tokens_of(const generation& g) {
    auto sum = g.prompt.size();
    for (const auto& p : g.progress) sum += p.tokens.size();
    return sum;
  }

  std::vector<generate> by_engine_;
};

}  // namespace troupe

// Answers of an engine to gateways, collected during a turn: one message for each gateway and kind.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "messages/llm/generation.hpp"
#include "messages/tensor/request.hpp"

namespace troupe::llm {

class gateway_answers {
 public:
  void add(const address& gateway, generated_token t) { to(gateway).tokens.tokens.push_back(std::move(t)); }
  void add(const address& gateway, dropped_request d) { to(gateway).dropped.requests.push_back(d); }
  void add(const address& gateway, result failed) { to(gateway).failed.results.push_back(std::move(failed)); }

  /// Calls `send(gateway, message)` for each message, gateways in the order of their first answer, and is
  /// empty afterwards. Tokens go first: a drop or a failure ends a request.
  template <class Send>
  void flush(Send&& send) {
    for (auto& [gateway, a] : answers_) {
      if (!a.tokens.tokens.empty()) send(gateway, std::move(a.tokens));
      if (!a.dropped.requests.empty()) send(gateway, std::move(a.dropped));
      if (!a.failed.results.empty()) send(gateway, std::move(a.failed));
    }
    answers_.clear();
  }
  void clear() { answers_.clear(); }

 private:
  struct answers {
    generated tokens;
    drops dropped;
    completion failed;
  };

  answers& to(const address& gateway) {
    const auto known = std::ranges::find(answers_, gateway, &std::pair<address, answers>::first);
    return known != answers_.end() ? known->second : answers_.emplace_back(gateway, answers{}).second;
  }

  std::vector<std::pair<address, answers>> answers_;
};

}  // namespace troupe::llm

#include "policies/llm/gateway_answers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;
using namespace troupe::llm;

namespace {

constexpr address llm_gateway_1{node_id{1}, {11}, role::llm_gateway, 0};
constexpr address next_incarnation{node_id{1}, {12}, role::llm_gateway, 0};  // its next incarnation
constexpr address llm_gateway_2{node_id{2}, {11}, role::llm_gateway, 0};

generated_token token_of(uint64_t id) {
  generated_token t;
  t.id = request_id{id};
  return t;
}

struct sent_answers {
  std::vector<std::pair<address, std::string>> kinds;
  size_t entries = 0;
  void operator()(const address& to, generated&& m) {
    kinds.emplace_back(to, "tokens"), entries += m.tokens.size();
  }
  void operator()(const address& to, drops&& m) {
    kinds.emplace_back(to, "drops"), entries += m.requests.size();
  }
  void operator()(const address& to, completion&& m) {
    kinds.emplace_back(to, "failures"), entries += m.results.size();
  }
};

}  // namespace

TEST_CASE("gateway answers: one message for each gateway and kind, tokens before failures") {
  gateway_answers answers;
  answers.add(llm_gateway_2, result{{4}, 1, failure::device_error, {}, "broken"});
  answers.add(llm_gateway_1, dropped_request{{2}, 1, drop_reason::late});
  answers.add(llm_gateway_2, token_of(3));
  answers.add(llm_gateway_2, token_of(4));
  answers.add(next_incarnation, token_of(5));
  sent_answers s;
  answers.flush(s);
  const std::vector<std::pair<address, std::string>> expected{{llm_gateway_2, "tokens"},
                                                              {llm_gateway_2, "failures"},
                                                              {llm_gateway_1, "drops"},
                                                              {next_incarnation, "tokens"}};
  CHECK(s.kinds == expected);
  CHECK(s.entries == 5);
  answers.flush(s);
  CHECK(s.kinds.size() == 4);  // each once
}

TEST_CASE("gateway answers: cleared answers are not sent") {
  gateway_answers answers;
  answers.add(llm_gateway_1, token_of(3));
  answers.clear();
  sent_answers s;
  answers.flush(s);
  CHECK(s.kinds.empty());
}

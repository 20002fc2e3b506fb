#include "actors/tensor/open_models.hpp"

#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

deployment line_about(uint64_t revision, uint32_t model, deployment_state wanted, const char* name = "m") {
  deployment d{revision, model_id{model}, wanted, {}};
  d.definition.name = name;
  return d;
}
std::vector<uint64_t> reported_idle(open_models& m, const ledger& requests) {
  std::vector<uint64_t> found;
  m.report_idle(requests, [&](const model_idle& i) {
    CHECK(i.who == the_gateway);
    found.push_back(i.revision);
  });
  return found;
}

using idle_revisions = std::vector<uint64_t>;

}  // namespace

TEST_CASE("open models: models of the cluster file are open, others once they are deployed") {
  open_models m({"a", "b"});
  CHECK(m.open(model_id{1}));
  CHECK_FALSE(m.open(model_id{3}));
  m.change(line_about(1, 3, deployment_state::deployed, "late"), the_gateway);
  CHECK(m.open(model_id{3}));
  CHECK(m.names() == std::vector<std::string>{"a", "b", "", "late"});
  m.change(line_about(2, 0, deployment_state::retiring), the_gateway);
  CHECK_FALSE(m.open(model_id{0}));
  CHECK(m.names()[0] == "m");
  m.change(line_about(3, 3, deployment_state::undeployed, ""), the_gateway);
  CHECK(m.names()[3] == "(forgotten)");
}

TEST_CASE("open models: a retiring model is idle once its requests are settled, and is reported once") {
  open_models m({"a", "b"});
  ledger requests;
  requests.accept(model_id{0});
  m.change(line_about(4, 0, deployment_state::retiring), the_gateway);
  CHECK(reported_idle(m, requests).empty());
  requests.finish(model_id{0});
  CHECK(reported_idle(m, requests) == idle_revisions{4});
  CHECK(reported_idle(m, requests).empty());
  m.change(line_about(5, 1, deployment_state::retiring), the_gateway);  // it never had a request
  CHECK(reported_idle(m, requests) == idle_revisions{5});
}

TEST_CASE("open models: the last of several lines about a model counts") {
  open_models m({"a"});
  ledger requests;
  m.change(line_about(4, 0, deployment_state::retiring), the_gateway);
  m.change(line_about(5, 0, deployment_state::retiring), the_gateway);
  CHECK(reported_idle(m, requests) == idle_revisions{5});
  m.change(line_about(6, 0, deployment_state::retiring), the_gateway);
  m.change(line_about(7, 0, deployment_state::deployed), the_gateway);
  CHECK(reported_idle(m, requests).empty());
}

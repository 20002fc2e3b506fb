#include "actors/operator/metrics.hpp"

#include <caf/all.hpp>
#include <future>

#include "actors/runtime/actor_of.hpp"
#include "tests/actors/caf_fixture.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("to_prometheus: metrics of one name are grouped under their type, with labels escaped") {
  const auto text = to_prometheus({{"b_total", {{"model", "x"}}, 3, metric::kind::counter},
                                   {"a", {}, 0.5, metric::kind::gauge},
                                   {"b_total", {{"model", "say \"y\""}}, 4, metric::kind::counter}});
  CHECK(text.find("# TYPE a gauge\na 0.5\n") != std::string::npos);
  CHECK(text.find("# TYPE b_total counter\nb_total{model=\"x\"} 3\nb_total{model=\"say \\\"y\\\"\"} 4\n") !=
        std::string::npos);
}

TEST_CASE("to_prometheus: a summary has quantiles, a sum and a count, by its other labels") {
  using enum metric::kind;
  const auto text = to_prometheus({{"t", {{"model", "a"}, {"quantile", "0.5"}}, 0.25, summary},
                                   {"t", {{"model", "b"}, {"quantile", "0.5"}}, 9, summary},
                                   {"t", {{"model", "a"}, {"quantile", "0.99"}}, 0.75, summary},
                                   {"t_sum", {{"model", "a"}}, 12, summary},
                                   {"t_count", {{"model", "a"}}, 24, summary}});
  CHECK(text ==
        "# TYPE t summary\n"
        "t_count{model=\"a\"} 24\n"
        "t_sum{model=\"a\"} 12\n"
        "t{model=\"a\",quantile=\"0.5\"} 0.25\n"
        "t{model=\"a\",quantile=\"0.99\"} 0.75\n"
        "t_count{model=\"b\"} 0\n"
        "t_sum{model=\"b\"} 0\n"
        "t{model=\"b\",quantile=\"0.5\"} 9\n");
}

TEST_CASE("metrics: it sums the reports of all hosts, and answers without a host that has ended") {
  caf_fixture fixture;
  machine_clock time;
  post post(node_id{0});
  probe::log log;
  for (uint32_t i = 0; i < 2; ++i) {
    auto group = std::make_unique<actor_group>(post);
    group->add<probe>(address{node_id{0}, {1}, role::model_queue, i}, log);
    const auto names = group->names();
    post.add_caf_host(spawn_threaded_caf_host(fixture.system(), std::move(group), time, {}, {}), names);
  }
  const auto gathering = spawn<metrics>(fixture.system(), post, [](std::vector<metric>& out) {
    out.push_back({"more", {}, 1, metric::kind::gauge});
  });
  const auto ask = [&] {
    std::promise<group_report> answered;
    caf::anon_send(gathering, report_query{[&](group_report r) { answered.set_value(std::move(r)); }});
    return answered.get_future().get();
  };
  const auto all = ask();
  CHECK(all.actors.size() == 2);
  CHECK(all.unfinished == 4);
  REQUIRE(all.metrics.size() == 3);
  CHECK(all.metrics.back().name == "more");

  caf::scoped_actor self{fixture.system()};
  caf::anon_send_exit(post.caf_hosts()[1], caf::exit_reason::kill);
  self->wait_for(post.caf_hosts()[1]);
  const auto rest = ask();
  CHECK(rest.actors.size() == 1);
  CHECK(rest.metrics.size() == 2);

  for (const auto& h : post.caf_hosts()) caf::anon_send_exit(h, caf::exit_reason::kill);
  caf::anon_send_exit(gathering, caf::exit_reason::kill);
  for (const auto& h : post.caf_hosts()) self->wait_for(h);
  self->wait_for(gathering);
}

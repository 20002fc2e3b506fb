// The numbers of instances of an [[llm]], the room for engines and weights of a [[node]], and [scaling].
#include <string>

#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

/// A cluster file whose language model has four places, two on each of two workers.
std::string with_places(std::string_view keys, std::string_view rest = "") {
  const auto nodes = changed(good_cluster, "[[model]]", R"([[node]]
name = "other"
roles = ["worker"]
control_port = 7703
[[model]]
)");
  return nodes + R"([[llm]]
name = "tasks"
model = "../llama-tasks/base"
nodes = ["worker", "other"]
engines_per_node = 2
)" + std::string(keys) +
         "\n" + std::string(rest);
}

/// Of the one language model. Fails on any problem.
llm_spec scaled(std::string_view keys) {
  const auto cluster = read(with_places(keys));
  REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
  return cluster.spec.llms.at(0);
}

/// The problems, without the file's name and position.
std::string refusals(const std::string& text) {
  std::string out;
  for (const auto& p : read(text).problems) out += (out.empty() ? "" : "\n") + p.text;
  return out;
}

struct instance_numbers {
  uint32_t min, start, max;
  bool operator==(const instance_numbers&) const = default;
};
instance_numbers numbers(const llm_spec& m) { return {m.min_instances, m.instances, m.max_instances}; }

constexpr std::string_view scales = "min_instances = 1";

}  // namespace

TEST_CASE("scaling: a model without its keys serves in every place, and its file means what it meant") {
  const auto m = scaled("");
  CHECK_FALSE(m.scales);
  CHECK(numbers(m) == instance_numbers{4, 4, 4});
  const auto cluster = read(with_places(""));
  CHECK(cluster.spec.nodes[1].max_engines == 0);
  CHECK(cluster.spec.nodes[1].parameter_bytes == 0);
  const auto dump = to_toml(cluster.effective);
  for (const auto* key : {"instances", "cold_start_s", "max_engines", "parameter_mb", "scaling", "park_s"}) {
    CAPTURE(key);
    CHECK(dump.find(key) == std::string::npos);
  }
}

TEST_CASE("scaling: each number of instances has a default that fits the others") {
  const auto given = [](std::string_view keys) {
    const auto m = scaled(keys);
    CHECK(m.scales);
    return numbers(m);
  };
  CHECK(given("min_instances = 1") == instance_numbers{1, 1, 4});
  CHECK(given("min_instances = 3") == instance_numbers{3, 3, 4});
  CHECK(given("min_instances = 0") == instance_numbers{0, 0, 4});
  CHECK(given("min_instances = 0\ninstances = 2") == instance_numbers{0, 2, 4});
  CHECK(given("instances = 0") == instance_numbers{0, 0, 4});
  CHECK(given("instances = 4") == instance_numbers{1, 4, 4});
  CHECK(given("max_instances = 2") == instance_numbers{1, 1, 2});
  CHECK(given("min_instances = 4\nmax_instances = 4\ninstances = 4") == instance_numbers{4, 4, 4});
}

TEST_CASE("scaling: requests wait for the first instance only where there may be none") {
  CHECK(scaled("min_instances = 0").cold_start == 30s);
  CHECK(scaled("min_instances = 0\ncold_start_s = 2.5").cold_start == 2500ms);
  CHECK(scaled("instances = 0\ncold_start_s = 3600").cold_start == 3600s);
  const auto alone =
      "llm.cold_start_s: is for a model that may have no instance; give min_instances = 0, or remove this "
      "key";
  CHECK(refusals(with_places("cold_start_s = 5")) == alone);
  CHECK(refusals(with_places("min_instances = 1\ncold_start_s = 5")) == alone);
  CHECK(refusals(with_places("min_instances = 0\ncold_start_s = 0")) ==
        "llm.cold_start_s: must be seconds in 0.001..3600, not 0");
  CHECK(refusals(with_places("min_instances = 0\ncold_start_s = 3601")) ==
        "llm.cold_start_s: must be seconds in 0.001..3600, not 3601");
}

TEST_CASE("scaling: numbers of instances that contradict each other or the places are refused") {
  const auto problem = [](std::string_view keys) { return refusals(with_places(keys)); };
  CHECK(problem("max_instances = 5") ==
        "llm.max_instances: must be at most 4, the places of the model (its nodes times engines_per_node), "
        "not 5; lower it, or add places");
  CHECK(problem("max_instances = 0") == "llm.max_instances: must be an integer in 1..1048576, not 0");
  CHECK(problem("min_instances = 5") ==
        "llm.min_instances: must be at most 4, the places of the model (its nodes times engines_per_node), "
        "not 5; lower it, or add places");
  CHECK(problem("instances = 5") ==
        "llm.instances: must be at most 4, the places of the model (its nodes times engines_per_node), not "
        "5; lower it, or add places");
  CHECK(problem("min_instances = 3\nmax_instances = 2") ==
        "llm.min_instances: must be at most max_instances = 2, not 3; lower it, or raise that");
  CHECK(problem("instances = 3\nmax_instances = 2") ==
        "llm.instances: must be at most max_instances = 2, not 3; lower it, or raise that");
  CHECK(problem("min_instances = 2\ninstances = 1") ==
        "llm.instances: must be at least min_instances = 2, not 1; raise it, or lower that");
  CHECK(problem("min_instances = -1\ncold_start_s = 5") ==
        "llm.min_instances: must be an integer in 0..1048576, not -1");
  CHECK(listed(read(with_places("max_instances = 5")).problems).starts_with("cluster.toml:32:17: "));
}

TEST_CASE("scaling: a problem of the places hides no other, and makes none") {
  const auto text = with_places("max_instances = 4", "[scaling]\ncopies = 2\n");
  CHECK(refusals(changed(text, "[\"worker\", \"other\"]", "[\"worker\", \"othre\"]")) ==
        "llm.nodes: holds \"othre\"; did you mean 'other'?");
  CHECK(refusals(changed(text, "engines_per_node = 2", "engines_per_node = 0")) ==
        "llm.engines_per_node: must be an integer in 1..1024, not 0");
}

TEST_CASE("scaling: a worker bounds its loaded engines and the memory for weights") {
  const auto on = [](std::string_view node, std::string_view keys) {
    return changed(with_places(scales), "name = \"" + std::string(node) + "\"\n",
                   "name = \"" + std::string(node) + "\"\n" + std::string(keys) + "\n");
  };
  const auto cluster = read(on("worker", "max_engines = 3\nparameter_mb = 0.5"));
  REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
  CHECK(cluster.spec.nodes[1].max_engines == 3);
  CHECK(cluster.spec.nodes[1].parameter_bytes == 512 << 10);
  CHECK(cluster.spec.nodes[2].max_engines == 0);
  CHECK(cluster.spec.nodes[2].parameter_bytes == 0);
  CHECK(cluster.spec.hash != read(with_places(scales)).spec.hash);
  CHECK(read(on("worker", "max_engines = 0\nparameter_mb = 0")).ok());

  CHECK(refusals(on("head", "max_engines = 3\nparameter_mb = 100")) ==
        "node.max_engines: only a worker loads engines; remove the key\n"
        "node.parameter_mb: only a worker keeps weights; remove the key");
  CHECK(refusals(on("worker", "max_engines = -1")) ==
        "node.max_engines: must be an integer in 0..1048576, not -1");
  CHECK(refusals(on("worker", "parameter_mb = -1")) ==
        "node.parameter_mb: must be MiB in 0..100000000, not -1");
}

TEST_CASE("scaling: the table has defaults, and each key its unit") {
  const auto defaults = read(with_places(scales));
  REQUIRE_MESSAGE(defaults.ok(), listed(defaults.problems));
  CHECK(defaults.spec.scaling.copies == 1);
  CHECK(defaults.spec.scaling.chunk_bytes == 4 << 20);
  CHECK(defaults.spec.scaling.window == 4);
  CHECK(defaults.spec.scaling.park == 60s);

  const auto cluster =
      read(with_places(scales, "[scaling]\ncopies = 2\nchunk_kb = 64\nwindow = 8\npark_s = 0.5\n"));
  REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
  CHECK(cluster.spec.scaling.copies == 2);
  CHECK(cluster.spec.scaling.chunk_bytes == 64 << 10);
  CHECK(cluster.spec.scaling.window == 8);
  CHECK(cluster.spec.scaling.park == 500ms);
}

TEST_CASE("scaling: policies of baselines") {
  const auto with = [](const std::string& keys) {
    return with_places("min_instances = 0\nmax_instances = 2\n", "[scaling]\n" + keys + "\n");
  };
  const auto policy = [&](const std::string& keys) {
    const auto cluster = read(with(keys));
    REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
    return cluster.spec;
  };
  CHECK(policy("").scaling.policy == scaling_policy::blitz);
  CHECK(policy("policy = \"all_cache\"").scaling.policy == scaling_policy::all_cache);
  CHECK(policy("policy = \"blitz_network\"\ncopies = 2").scaling.copies == 2);
  const auto serverless = policy("policy = \"serverless\"\nkeep_s = 7").scaling;
  CHECK(serverless.policy == scaling_policy::serverless);
  CHECK(serverless.keep == 7s);
  CHECK(serverless.copies == 0);
  CHECK(numbers(policy("policy = \"static_full\"").llms.front()) == instance_numbers{4, 4, 4});
  CHECK(numbers(policy("policy = \"static_half\"").llms.front()) == instance_numbers{2, 2, 2});

  CHECK(refusals(with("policy = \"chains\"")) ==
        "scaling.policy: must be one of \"blitz\", \"blitz_multicast\", \"blitz_network\", \"all_cache\", "
        "\"serverless\", \"static_full\", \"static_half\", not \"chains\"");
  CHECK(refusals(with("keep_s = 7")) == "scaling.keep_s: it is for policy = \"serverless\"; remove the key");
  CHECK(refusals(with("policy = \"serverless\"\ncopies = 1")) ==
        "scaling.copies: nodes keep no weights for others with policy = \"serverless\"; remove the key");
  CHECK(refusals(with("policy = \"all_cache\"\ncopies = 1")) ==
        "scaling.copies: every node keeps the weights with policy = \"all_cache\"; remove the key");
}

TEST_CASE("scaling: values of the table out of range are refused, and the table without a scaling model") {
  const auto problem = [](const std::string& key) {
    return refusals(with_places(scales, "[scaling]\n" + key + "\n"));
  };
  CHECK(problem("copies = 0") == "scaling.copies: must be an integer in 1..16, not 0");
  CHECK(problem("copies = 17") == "scaling.copies: must be an integer in 1..16, not 17");
  CHECK(problem("copies = 3") ==
        "scaling.copies: must be at most 2, the nodes of language model 'tasks', not 3; lower it, or give "
        "the model more nodes");
  CHECK(problem("chunk_kb = 63") == "scaling.chunk_kb: must be an integer in 64..65536, not 63");
  CHECK(problem("chunk_kb = 65537") == "scaling.chunk_kb: must be an integer in 64..65536, not 65537");
  CHECK(problem("window = 0") == "scaling.window: must be an integer in 1..64, not 0");
  CHECK(problem("window = 65") == "scaling.window: must be an integer in 1..64, not 65");
  CHECK(problem("park_s = -1") == "scaling.park_s: must be seconds in 0..86400, not -1");
  CHECK(problem("park_s = 86401") == "scaling.park_s: must be seconds in 0..86400, not 86401");
  CHECK(problem("parks_s = 1") == "scaling: unknown key 'parks_s'; did you mean 'park_s'?");
  CHECK(refusals(with_places("", "[scaling]\nwindow = 8\n")) ==
        "scaling: no language model scales; give an [[llm]] min_instances or max_instances, a worker "
        "parameter_mb, or remove this table");
  CHECK(refusals(std::string(good_cluster) + "[scaling]\n").starts_with("scaling: no language model scales"));
}

TEST_CASE("scaling: a worker that keeps files of tensor models has the keys of chunks") {
  const auto keeping = [](const std::string& table) {
    return changed(with_places("", "[scaling]\n" + table + "\n"), "name = \"worker\"\n",
                   "name = \"worker\"\nparameter_mb = 1\n");
  };
  const auto cluster = read(keeping("chunk_kb = 64\nwindow = 2"));
  REQUIRE_MESSAGE(cluster.ok(), listed(cluster.problems));
  CHECK(cluster.spec.scaling.chunk_bytes == 64 << 10);
  CHECK(cluster.spec.scaling.window == 2);
  CHECK(refusals(keeping("copies = 2")) == "scaling.copies: no language model scales; remove the key");
  CHECK(refusals(keeping("park_s = 2")) == "scaling.park_s: no language model scales; remove the key");
}

TEST_CASE("scaling: a dump reads back to the same, and the hash depends on each key, not on defaults") {
  const auto hash_of = [](const std::string& text) {
    const auto first = read(text);
    CHECK(listed(first.problems) == "");
    const auto again = read_cluster_text(to_toml(first.effective), "dump.toml", "/elsewhere");
    CHECK(listed(again.problems) == "");
    CHECK(again.spec.hash == first.spec.hash);
    CHECK(numbers(again.spec.llms.at(0)) == numbers(first.spec.llms.at(0)));
    CHECK(again.spec.llms[0].scales == first.spec.llms[0].scales);
    return first.spec.hash;
  };
  const auto hash = hash_of(with_places(scales));
  CHECK(hash != hash_of(with_places("")));
  CHECK(hash == hash_of(with_places("max_instances = 4\ninstances = 1\nmin_instances = 1", "[scaling]")));
  CHECK(hash == hash_of(with_places(scales, "[scaling]\nchunk_kb = 4096\npark_s = 60\n")));
  CHECK(hash != hash_of(with_places("instances = 2")));
  CHECK(hash != hash_of(with_places("max_instances = 3")));
  CHECK(hash != hash_of(with_places(scales, "[scaling]\ncopies = 2\n")));
  const auto cold = hash_of(with_places("min_instances = 0"));
  CHECK(cold == hash_of(with_places("instances = 0\ncold_start_s = 30")));
  CHECK(cold != hash_of(with_places("min_instances = 0\ncold_start_s = 31")));
}

TEST_CASE("scaling: a model has a scaling loop if it has the table, with defaults and units of its keys") {
  CHECK(scaled(scales).loop.mode == autoscale_mode::off);
  const auto usual = scaled("min_instances = 1\n[llm.scaling]").loop;
  CHECK(usual.mode == autoscale_mode::advise);
  CHECK(usual.prefill_low == 0.5);
  CHECK(usual.prefill_high == 0.7);
  CHECK(usual.decode_low == 0.75);
  CHECK(usual.decode_high == 0.95);
  CHECK(usual.window == 2s);
  CHECK(usual.backlog == 5s);
  CHECK(usual.scale_down == 2s);
  const auto given = scaled(R"(min_instances = 1
[llm.scaling]
mode = "apply"
prefill_low = 0.2
prefill_high = 0.4
decode_low = 0.3
decode_high = 0.6
window_s = 0.5
backlog_s = 1
scale_down_s = 0.3)")
                         .loop;
  CHECK(given.mode == autoscale_mode::apply);
  CHECK(given.prefill_low == 0.2);
  CHECK(given.prefill_high == 0.4);
  CHECK(given.decode_low == 0.3);
  CHECK(given.decode_high == 0.6);
  CHECK(given.window == 500ms);
  CHECK(given.backlog == 1s);
  CHECK(given.scale_down == 300ms);
}

TEST_CASE("scaling: a loop that cannot work is refused with its place") {
  const auto problem = [](const std::string& keys) {
    return refusals(with_places("min_instances = 1\n[llm.scaling]\n" + keys));
  };
  CHECK(problem("mode = \"aply\"")
            .starts_with("llm.scaling.mode: must be one of \"off\", \"advise\", \"apply\""));
  CHECK(problem("prefill_low = 0.7") ==
        "llm.scaling.prefill_low: must be less than prefill_high = 0.7, not 0.7");
  CHECK(problem("decode_high = 0.5") ==
        "llm.scaling.decode_low: must be less than decode_high = 0.5, not 0.75");
  CHECK(problem("prefill_high = 1.5") == "llm.scaling.prefill_high: must be a fraction in 0.01..1, not 1.5");
  CHECK(problem("scale_down_s = 0") == "llm.scaling.scale_down_s: must be seconds in 0.1..86400, not 0");
  CHECK(problem("backlog_s = 0") == "llm.scaling.backlog_s: must be seconds in 0.1..3600, not 0");
  CHECK(problem("window_s = 4000") == "llm.scaling.window_s: must be seconds in 0.1..3600, not 4000");
  CHECK(problem("bounds = 1").starts_with("llm.scaling: unknown key 'bounds'"));
  CHECK(
      refusals(with_places("[llm.scaling]")) ==
      "llm.scaling: the model does not scale; give it min_instances or max_instances, or remove this table");
  CHECK(refusals(with_places("min_instances = 4\n[llm.scaling]")) ==
        "llm.scaling: the model always has 4 instances; lower min_instances, raise max_instances, or remove "
        "this table");
  CHECK(listed(read(with_places("min_instances = 1\n[llm.scaling]\nprefill_low = 0.7")).problems)
            .starts_with("cluster.toml:34:15: "));
}

TEST_CASE("scaling: a loop is in the dump and in the hash") {
  const auto with_loop = read(with_places("min_instances = 1\n[llm.scaling]\nscale_down_s = 5"));
  REQUIRE_MESSAGE(with_loop.ok(), listed(with_loop.problems));
  const auto again = read_cluster_text(to_toml(with_loop.effective), "dump.toml", "/elsewhere");
  CHECK(listed(again.problems) == "");
  CHECK(again.spec.hash == with_loop.spec.hash);
  CHECK(again.spec.llms.at(0).loop.scale_down == 5s);
  CHECK(with_loop.spec.hash != read(with_places("min_instances = 1\n[llm.scaling]")).spec.hash);
  CHECK(with_loop.spec.hash != read(with_places(scales)).spec.hash);
}

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "policies/registry/scheduling.hpp"
#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

std::string hash_of(std::string_view text) {
  const auto cluster = read(text);
  CHECK(listed(cluster.problems) == "");
  return cluster.spec.hash;
}

void write(const std::filesystem::path& file, std::string_view text) { std::ofstream{file} << text; }

/// A temporary folder, removed with the object.
struct scratch {
  std::filesystem::path path;
  explicit scratch(const char* name)
      : path(std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~scratch() { std::filesystem::remove_all(path); }
};

/// Compares clusters without the source of their profiles: a dump writes profiles out.
void check_same(const cluster_spec& a, const cluster_spec& b) {
  CHECK(a.hash == b.hash);
  CHECK(a.name == b.name);
  REQUIRE(a.nodes.size() == b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    CHECK(a.nodes[i].name == b.nodes[i].name);
    CHECK(a.nodes[i].host == b.nodes[i].host);
    CHECK(a.nodes[i].control_port == b.nodes[i].control_port);
    CHECK(a.nodes[i].http_port == b.nodes[i].http_port);
    CHECK(a.nodes[i].data_ports == b.nodes[i].data_ports);
    CHECK(a.nodes[i].roles == b.nodes[i].roles);
  }
  REQUIRE(a.models.size() == b.models.size());
  for (size_t i = 0; i < a.models.size(); ++i) {
    CHECK(a.models[i].name == b.models[i].name);
    CHECK(a.models[i].path == b.models[i].path);
    CHECK(a.models[i].slo == b.models[i].slo);
    CHECK(a.models[i].latency == b.models[i].latency);
    CHECK(a.models[i].max_batch == b.models[i].max_batch);
    CHECK(a.models[i].input_bytes == b.models[i].input_bytes);
    CHECK(a.models[i].output_bytes == b.models[i].output_bytes);
    CHECK(a.models[i].weight == b.models[i].weight);
  }
  CHECK(a.policy.batching == b.policy.batching);
  CHECK(a.policy.network == b.policy.network);
  CHECK(a.limits.queue_rows == b.limits.queue_rows);
  CHECK(a.limits.drain_timeout == b.limits.drain_timeout);
  CHECK(a.links.size() == b.links.size());
  CHECK(a.slots.size() == b.slots.size());
}

}  // namespace

TEST_CASE("links of nodes are read") {
  const auto cluster = read(changed(good_cluster, "", R"(
[[link]]
nodes = ["head", "worker"]
gbit_per_s = 100
leaf = "rack1"
uplink_gbit_per_s = 400
scale_up_domain = "box1"
scale_up_gbit_per_s = 1600
host_to_device_gbit_per_s = 128
ssd_gbit_per_s = 10
)"));
  REQUIRE(listed(cluster.problems) == "");
  REQUIRE(cluster.spec.links.size() == 1);
  const auto& l = cluster.spec.links[0];
  CHECK(l.nodes == std::vector<std::string>{"head", "worker"});
  CHECK(l.gbit_per_s == 100);
  CHECK(l.leaf == "rack1");
  CHECK(l.uplink_gbit_per_s == 400);
  CHECK(l.scale_up_domain == "box1");
  CHECK(l.scale_up_gbit_per_s == 1600);
  CHECK(l.host_to_device_gbit_per_s == 128);
  CHECK(l.ssd_gbit_per_s == 10);
}

TEST_CASE("links are paced if the file says so, each interface at the rate of its link") {
  const auto cluster = read(changed(good_cluster, "", R"(
[links]
pace = true
[[link]]
nodes = ["worker"]
gbit_per_s = 2.5
)"));
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.pace_links);
  CHECK(interface_gbit_per_s(cluster.spec, node_id{1}) == 2.5);
  CHECK(interface_gbit_per_s(cluster.spec, node_id{0}) == 10);
}

TEST_CASE("absent keys have defaults") {
  const auto cluster = read(good_cluster);
  REQUIRE(listed(cluster.problems) == "");
  const auto& c = cluster.spec;
  CHECK(c.name == "test");
  CHECK(c.nodes[0].host == "127.0.0.1");
  CHECK(c.nodes[0].data_ports == port_range{});
  CHECK(c.policy.shedding == "window");
  CHECK(c.policy.matchmaking == "lowest_id");
  CHECK(c.policy.network == network_delay{200us, 20us});
  CHECK(c.policy.response == 1ms);
  CHECK(c.policy.margin == 500us);
  CHECK(c.policy.decision_log == 4096);
  CHECK(c.autoscale.mode == autoscale_mode::advise);
  CHECK(c.autoscale.window == 10s);
  CHECK(c.autoscale.bad_rate == 0.01);
  CHECK(c.autoscale.reserve == 0.1);
  CHECK(c.autoscale.min_gpus == 1);
  CHECK(c.autoscale.max_gpus == 0);
  CHECK_FALSE(c.pace_links);
  CHECK(c.limits.queue_rows == 100);
  CHECK(c.limits.requests_in_flight == 65536);
  CHECK(c.limits.pool_bytes == 256 << 20);
  CHECK(c.limits.body_bytes == 64 << 20);
  CHECK(c.limits.bodies_bytes == 256 << 20);
  CHECK(c.limits.header_bytes == 32 << 10);
  CHECK(c.limits.http_connections == 16384);
  CHECK(c.limits.http_idle_timeout == 75s);
  CHECK(c.limits.http_header_timeout == 10s);
  CHECK(c.limits.http_body_timeout == 60s);
  CHECK(c.limits.request_timeout == 1s);
  CHECK(c.limits.heartbeat == 250ms);  // a twelfth of node_timeout_ms, at most this
  CHECK(c.limits.node_timeout == 3s);
  CHECK(c.limits.takeover == 300ms);
  CHECK(c.limits.drain_timeout == 10s);
  CHECK(c.models[0].max_batch == 64);
  CHECK(c.models[0].latency == latency_model{1ms, 5ms});
  CHECK(c.models[0].origin == profile_origin::given);
  CHECK(c.models[0].weight == 1);
}

TEST_CASE("a scheduler's name stands for its three policies, which may have keys of their own") {
  const auto policy_of = [](const char* keys) {
    const auto cluster = read(changed(good_cluster, "batching = \"deferred\"", keys));
    REQUIRE(listed(cluster.problems) == "");
    const auto& p = cluster.spec.policy;
    return scheduling{p.batching, p.shedding, p.matchmaking};
  };
  for (const auto* name : {"deferred", "eager", "timeout(30%)", "clockwork", "nexus", "shepherd"}) {
    const auto line = "scheduler = \"" + std::string(name) + "\"";
    CHECK(policy_of(line.c_str()) == scheduling_named(name));
  }
  CHECK(policy_of("scheduler = \"eager\"\nshedding = \"window\"") ==
        scheduling{"eager", "window", "lowest_id"});
}

TEST_CASE("a cluster may place models as Nexus does") {
  const auto cluster = read(changed(good_cluster, "\"deferred\"", "\"nexus\"\nmatchmaking = \"nexus\""));
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.policy.batching == "nexus");
  CHECK(cluster.spec.policy.matchmaking == "nexus");
}

TEST_CASE("advice on the number of GPUs is applied as the file says") {
  const auto cluster = read(changed(good_cluster, "", R"(
[autoscale]
mode = "apply"
window_s = 30
bad_rate = 0.02
reserve = 0.2
min_gpus = 2
max_gpus = 64
)"));
  REQUIRE(listed(cluster.problems) == "");
  const auto& a = cluster.spec.autoscale;
  CHECK(a.mode == autoscale_mode::apply);
  CHECK(a.window == 30s);
  CHECK(a.bad_rate == 0.02);
  CHECK(a.reserve == 0.2);
  CHECK(a.min_gpus == 2);
  CHECK(a.max_gpus == 64);
}

TEST_CASE("leader candidates are the scheduler, then the standbys in file order") {
  const auto cluster = read(changed(good_cluster, "[[node]]", R"([[node]]
name = "standby"
roles = ["standby"]
control_port = 7801
[[node]]
name = "last"
roles = ["standby", "worker"]
control_port = 7802
[[node.device]]
kind = "emulated"
[[node]])"));
  REQUIRE(listed(cluster.problems) == "");
  const auto& c = cluster.spec;
  std::vector<std::string> line;
  for (const auto n : leader_candidates(c)) line.push_back(c.nodes[n.value].name);
  CHECK(line == std::vector<std::string>{"head", "standby", "last"});
  CHECK(has_standby(c));
  CHECK_FALSE(has_standby(read(good_cluster).spec));
}

TEST_CASE("every device is a slot, numbered through the nodes in the order of the file") {
  const auto cluster = read(changed(good_cluster, "", R"(
[[node]]
name = "both"
roles = ["gateway", "worker"]
control_port = 7703
http_port = 8081
[[node.device]]
kind = "emulated"
memory_gb = 1.5
jitter = 0.1
[[node.device]]
kind = "emulated"
count = 2
)"));
  REQUIRE(listed(cluster.problems) == "");
  const auto& slots = cluster.spec.slots;
  REQUIRE(slots.size() == 5);
  CHECK(slots[1].node == node_id{1});
  CHECK(slots[2].node == node_id{2});
  CHECK(slots[2].memory_bytes == 3u << 29);
  CHECK(slots[2].jitter == 0.1);
  CHECK(slots[4].jitter == 0);
}

TEST_CASE("a model's profile can come from a file, and its SLO with it") {
  const std::string profile =
      "profile = { file = \"" TROUPE_EXAMPLES "/profiles/a100.csv\", name = \"DenseNet121\" }";
  const auto cluster = read(changed(changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }", profile),
                                    "slo_ms = 20\n", ""));
  REQUIRE(listed(cluster.problems) == "");
  const auto own = read(changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }", profile));
  const auto& m = cluster.spec.models[0];
  CHECK(m.origin == profile_origin::file);
  CHECK(m.latency == latency_model{from_ms(0.054), from_ms(10.546)});
  CHECK(m.slo == 21ms);
  CHECK(own.spec.models[0].slo == 20ms);
}

TEST_CASE("a real device runs a model file and measures it") {
  auto text = changed(good_cluster, "\"emulated\"\ncount = 2", "\"cpu\"\nthreads = 2");
  text = changed(text, "profile = { alpha_ms = 1, beta_ms = 5 }", "source = \"mlp.onnx\"");
  const auto cluster = read(text);
  REQUIRE(listed(cluster.problems) == "");
  const auto& m = cluster.spec.models[0];
  CHECK(m.origin == profile_origin::measured);
  CHECK(m.latency == latency_model{});
  CHECK(m.path == TROUPE_FIXTURES "/onnx/mlp.onnx");
  CHECK(cluster.spec.slots[0].threads == 2);
}

TEST_CASE("a model file names its engine") {
  auto text = changed(good_cluster, "\"emulated\"\ncount = 2", "\"cpu\"");
  text = changed(text, "profile = { alpha_ms = 1, beta_ms = 5 }", "source = \"mlp.onnx\"\n");
  const auto with = [&](const std::string& keys) {
    return read(changed(text, "source = \"mlp.onnx\"\n", "source = \"mlp.onnx\"\n" + keys));
  };
  CHECK(with("").spec.models[0].engine == model_engine::automatic);
  CHECK(with("engine = \"native\"\n").spec.models[0].engine == model_engine::native);
  const auto fast = with("engine = \"openvino\"\nprecision = \"bf16\"\n");
  REQUIRE(listed(fast.problems) == "");
  CHECK(fast.spec.models[0].engine == model_engine::openvino);
  CHECK(fast.spec.models[0].bf16);
  CHECK(fast.spec.hash != with("engine = \"openvino\"\n").spec.hash);
  CHECK(listed(with("precision = \"bf16\"\n").problems).find("engine = \"openvino\"") != std::string::npos);
  CHECK(listed(with("engine = \"tensorrt\"\n").problems).find("\"auto\", \"native\"") != std::string::npos);
}

TEST_CASE("a model without batches has whole shapes, and a batch of one") {
  auto text = changed(good_cluster, "\"emulated\"\ncount = 2", "\"cpu\"");
  text = changed(text, "profile = { alpha_ms = 1, beta_ms = 5 }", "source = \"mlp.onnx\"\n");
  const auto with = [&](const std::string& keys) {
    return read(changed(text, "source = \"mlp.onnx\"\n", "source = \"mlp.onnx\"\n" + keys));
  };
  CHECK(with("").spec.models[0].batched);
  const auto vad =
      with("batching = \"none\"\nshapes = { x = [1, 576], h = [] }\nconstants = { sr = 16000 }\n");
  REQUIRE(listed(vad.problems) == "");
  const auto& m = vad.spec.models[0];
  CHECK_FALSE(m.batched);
  CHECK(m.max_batch == 1);
  CHECK(m.shapes == std::vector<input_shape>{{"h", {}}, {"x", {1, 576}}});
  CHECK(m.constants == std::vector<input_constant>{{"sr", 16000}});
  const auto problem = [&](const std::string& keys) { return listed(with(keys).problems); };
  CHECK(with("shapes = { x = [3, 320] }\n").spec.models[0].shapes ==
        std::vector<input_shape>{{"x", {3, 320}}});
  CHECK(problem("batching = \"none\"\nshapes = { x = [0] }\n").find("holds 0") != std::string::npos);
  CHECK(problem("batching = \"none\"\nshapes = { x = [1.5] }\n").find("no whole number") !=
        std::string::npos);
  CHECK(problem("batching = \"none\"\nmax_batch = 4\n").find("remove this key") != std::string::npos);
  CHECK(problem("constants = { sr = \"x\" }\n").find("constants.sr") != std::string::npos);
  text = changed(text, "\"cpu\"", "\"cuda\"");
  CHECK(problem("batching = \"none\"\n").find("is for CPUs, and node") != std::string::npos);
  CHECK(problem("").find("is for CPUs") == std::string::npos);
}

TEST_CASE("a GPU's number follows those of the node's earlier devices unless it is given") {
  auto text = changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }", "source = \"mlp.onnx\"");
  text = changed(text, "\"emulated\"\ncount = 2", R"("cuda"
count = 2
[[node.device]]
kind = "cpu"
[[node.device]]
kind = "cuda"
exact = true
[[node.device]]
kind = "cuda"
gpu = 1
[[node.device]]
kind = "cuda"
)");
  const auto cluster = read(text);
  const auto& devices = cluster.spec.nodes.at(1).devices;
  REQUIRE(devices.size() == 5);
  CHECK(devices[0].gpu == 0);
  CHECK(devices[2].gpu == 2);
  CHECK(devices[2].exact);
  CHECK(devices[3].gpu == 1);
  CHECK(devices[4].gpu == 2);
  CHECK_FALSE(devices[4].exact);
#ifdef TROUPE_CUDA
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.models[0].origin == profile_origin::measured);
  const auto& slots = cluster.spec.slots;
  REQUIRE(slots.size() == 6);
  CHECK(slots[0].gpu == 0);
  CHECK(slots[1].gpu == 1);
  CHECK(slots[3].kind == device_kind::cuda);
  CHECK(slots[3].gpu == 2);
  CHECK(slots[3].exact);
  const auto again = read(to_toml(cluster.effective));
  REQUIRE(listed(again.problems) == "");
  CHECK(again.spec.hash == cluster.spec.hash);
  CHECK(read(changed(text, "exact = true", "exact = false")).spec.hash != cluster.spec.hash);
#endif
}

TEST_CASE("the hash does not depend on spelling, comments, the order of keys or the place of the file") {
  const auto hash = hash_of(good_cluster);
  CHECK(hash.size() == 16);
  CHECK(hash.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(hash_of(changed(good_cluster, "slo_ms = 20", "slo_ms   =  2.0e1  # generous")) == hash);
  CHECK(hash_of(changed(good_cluster, "alpha_ms = 1, beta_ms = 5", "beta_ms = 5.0, alpha_ms = 1.0")) == hash);
  CHECK(hash_of(changed(good_cluster, "queue_rows = 100", "queue_rows = 100\npool_mb = 256")) == hash);
  CHECK(hash_of("# a comment\n" + changed(good_cluster, "", "\n[clock]\n").substr(0, good_cluster.size())) ==
        hash);
  CHECK(read_cluster_text(good_cluster, "other.toml", "/elsewhere").spec.hash == hash);
}

TEST_CASE("the hash depends on every value") {
  const auto hash = hash_of(good_cluster);
  const std::pair<const char*, const char*> changes[] = {{"\"test\"", "\"other\""},
                                                         {"deferred", "eager"},
                                                         {"= 100", "= 101"},
                                                         {"\"head\"", "\"boss\""},
                                                         {"7701", "7799"},
                                                         {"8080", "8079"},
                                                         {"7702", "7702\nhost = \"localhost\""},
                                                         {"count = 2", "count = 3"},
                                                         {"count = 2", "count = 2\njitter = 0.1"},
                                                         {"name = \"m\"", "name = \"n\""},
                                                         {"= 20", "= 21"},
                                                         {"alpha_ms = 1", "alpha_ms = 1.1"},
                                                         {"beta_ms = 5", "beta_ms = 6"},
                                                         {"slo_ms", "weight = 2\nslo_ms"}};
  for (const auto& [was, is] : changes) {
    CAPTURE(is);
    CHECK(hash_of(changed(good_cluster, was, is)) != hash);
  }
}

TEST_CASE("nodes with other weights have another hash, nodes with the same weights elsewhere the same") {
  const scratch a{"troupe_a_"}, b{"troupe_b_"};
  const auto text = changed(good_cluster, "slo_ms = 20", "slo_ms = 20\nsource = \"m.onnx\"");
  const auto hash_in = [&](const scratch& s) {
    return read_cluster_text(text, "cluster.toml", s.path).spec.hash;
  };
  write(a.path / "m.onnx", "weights");
  write(b.path / "m.onnx", "weights");
  const auto hash = hash_in(a);
  CHECK(hash.size() == 16);
  CHECK(hash_in(b) == hash);
  write(b.path / "m.onnx", "weighty");
  CHECK(hash_in(b) != hash);
}

TEST_CASE("a dumped file reads back to the same cluster") {
  for (const std::string file :
       {TROUPE_EXAMPLES "/quickstart/cluster.toml", TROUPE_EXAMPLES "/emulated/cluster.toml"}) {
    CAPTURE(file);
    const auto cluster = read_cluster(file);
    REQUIRE(listed(cluster.problems) == "");
    const auto again = read_cluster_text(to_toml(cluster.effective), "dump.toml", "/elsewhere");
    REQUIRE(listed(again.problems) == "");
    check_same(cluster.spec, again.spec);
    CHECK(meaning(cluster.effective) == meaning(again.effective));
  }
}

TEST_CASE("a dump gives the origin of every value") {
  const std::string profile =
      "profile = { file = \"" TROUPE_EXAMPLES "/profiles/a100.csv\", name = \"DenseNet121\" }";
  const auto text = changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }", profile);
  const auto dump = to_toml(read(text).effective);
  CHECK(dump.starts_with("name = \"test\"  # cluster.toml:1:8\n"));
  const auto says = [&](std::string_view value, std::string_view origin) {
    const auto at = dump.find(std::string{value} + " ");
    if (at == std::string::npos) return false;
    const auto line = dump.substr(at, dump.find('\n', at) - at);
    return line.ends_with("  # " + std::string{origin});
  };
  CHECK(says("shedding = \"window\"", "default"));
  CHECK(says("slo_ms = 20", "cluster.toml:20:10"));
  CHECK(says("alpha_ms = 0.054", TROUPE_EXAMPLES "/profiles/a100.csv:2:1"));
  CHECK(says("weight = 1", "default"));
}

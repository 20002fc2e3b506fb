// Invalid cluster files: a change to a valid one, and all resulting problems.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

struct bad_cluster {
  const char* was;       ///< in the good file
  const char* is;        ///< its replacement
  const char* problems;  ///< all of them, one a line, without the file's name
};

void check_clusters(std::string_view good, std::initializer_list<bad_cluster> files) {
  for (const auto& bad : files) {
    const std::string was = bad.was, is = bad.is;
    CAPTURE(was);
    CAPTURE(is);
    std::string said;
    for (const auto& p : read(changed(good, was, is)).problems) {
      REQUIRE(p.where.file == "cluster.toml");
      if (!said.empty()) said += '\n';
      said += to_string(p).substr(std::string_view{"cluster.toml:"}.size());
    }
    CHECK(said == std::string{bad.problems});
  }
}

}  // namespace

// One line a file, regardless of the length of its message.
// clang-format off

TEST_CASE("an invalid value is reported with its place and the expected form") {
  check_clusters(good_cluster, {
      {"7701", R"("7701")", R"(9:16: node.control_port: must be an integer in 1..65535, not "7701")"},
      {"7701", "0", "9:16: node.control_port: must be an integer in 1..65535, not 0"},
      {"7701", "70000", "9:16: node.control_port: must be an integer in 1..65535, not 70000"},
      {"7701", "7701.0", "9:16: node.control_port: must be an integer in 1..65535, not 7701.0"},
      {"7701", "true", "9:16: node.control_port: must be an integer in 1..65535, not true"},
      {"= 100", "= [100]", "5:14: limits.queue_rows: must be an integer in 1..16777216, not an array"},
      {"= 20", "= nan", "20:10: model.slo_ms: must be milliseconds in 0.001..3600000, not nan"},
      {"= 20", "= inf", "20:10: model.slo_ms: must be milliseconds in 0.001..3600000, not inf"},
      {"= 20", "= -5", "20:10: model.slo_ms: must be milliseconds in 0.001..3600000, not -5"},
      {"= 20", R"(= "20ms")", R"(20:10: model.slo_ms: must be milliseconds in 0.001..3600000, not "20ms")"},
      {"= 20", "= 2026-01-01", "20:10: model.slo_ms: must be milliseconds in 0.001..3600000, not 2026-01-01"},
      {R"(batching = "deferred")", R"(scheduler = "defered")", R"(3:13: policy.scheduler: must be one of "deferred", "eager", "timeout", "clockwork", "nexus", "shepherd", not "defered"; did you mean 'deferred'?)"},
      {R"(batching = "deferred")", "scheduler = \"timeout(k)\"", "3:13: policy.scheduler: invalid policy 'timeout(k)'; use timeout(30%) (of the SLO), timeout(12.5ms) or timeout(800us)"},
      {R"("deferred")", "\"timeout(0)\"", "3:12: policy.batching: invalid policy 'timeout(0)'; use timeout(30%) (of the SLO), timeout(12.5ms) or timeout(800us)"},
      {R"("deferred")", "\"eager(3)\"", "3:12: policy.batching: invalid policy 'eager(3)'; 'eager' does not take this argument"},
      {R"("deferred")", "\"later(3)\"", "3:12: policy.batching: unknown policy 'later(3)'; policies without an argument are deferred, eager, timeout, clockwork, nexus"},
      {R"("deferred")", "\"eager\"\nmatchmaking = \"nexus\"", R"(4:15: policy.matchmaking: Nexus is a batching and a matchmaking policy in one; write scheduler = "nexus")"},
      {R"("deferred")", R"("nexus")", R"(3:12: policy.batching: Nexus is a batching and a matchmaking policy in one; write scheduler = "nexus")"},
      {R"("deferred")", R"("defered")", R"(3:12: policy.batching: must be one of "deferred", "eager", "timeout", "clockwork", "nexus", not "defered"; did you mean 'deferred'?)"},
      {R"("emulated")", "7", R"(16:8: node.device.kind: must be one of "cpu", "emulated", "cuda", not 7)"},
      {"count = 2", "jitter = 2", "17:10: node.device.jitter: must be a fraction in 0..1, not 2"},
      {R"("head")", R"("a head")", R"(7:8: node.name: must be a name of up to 64 letters, digits, '_', '-' and '.', not "a head")"},
      {R"(name = "m")", "name = \"m\\u0000\"", "19:8: model.name: must be a name of up to 64 letters, digits, '_', '-' and '.', not \"m\\u0000\""},
      {R"(["worker"])", R"("worker")", R"(13:9: node.roles: must be an array of "gateway", "scheduler", "worker", "standby", not "worker")"},
      {"[policy]", "[[policy]]", "2:1: policy: must be a table, not an array of tables"},
      {"[[model]]", "[model]", "18:1: model: must be written as [[model]], once for each"},
  });
}

TEST_CASE("a missing key is named at the head of its section") {
  check_clusters(good_cluster, {
      {R"(name = "test")", "", "1:1: name: is missing; it must be a name of up to 64 letters, digits, '_', '-' and '.'"},
      {"control_port = 7702", "", "11:1: node.control_port: is missing; it must be an integer in 1..65535"},
      {"http_port = 8080", "", "6:1: node.http_port: is missing; it must be an integer in 1..65535"},
      {"kind = \"emulated\"\n", "", R"(15:1: node.device.kind: is missing; it must be one of "cpu", "emulated", "cuda")"},
      {"slo_ms = 20", "", "18:1: model.slo_ms: is missing; it must be milliseconds in 0.001..3600000"},
      {"alpha_ms = 1, ", "", "21:11: model.profile.alpha_ms: is missing; it must be milliseconds in 0..3600000"},
      {"", "[[link]]\nnodes = [\"head\", \"worker\"]\n", "22:1: link.gbit_per_s: is missing; it must be a number of Gbit/s in 0.001..100000"},
  });
}

TEST_CASE("an unknown key is refused with the nearest known one, or with all of them") {
  check_clusters(good_cluster, {
      {"slo_ms = 20", "slo_ms = 20\nslo = 5", "21:1: model: unknown key 'slo'; did you mean 'slo_ms'?"},
      {"count = 2", "cuont = 2", "17:1: node.device: unknown key 'cuont'; did you mean 'count'?"},
      {"[limits]", "[limit]", "4:2: unknown key 'limit'; did you mean 'limits'?"},
      {"count = 2", "size = 2", "17:1: node.device: unknown key 'size'; known: kind, count, memory_gb, jitter, threads, gpu, exact"},
      {"beta_ms = 5", "beta_ms = 5, gamma = 2", "21:40: model.profile: unknown key 'gamma'; known: alpha_ms, beta_ms"},
  });
}

TEST_CASE("broken TOML is one problem with its place") {
  check_clusters(good_cluster, {
      {R"(name = "test")", "name = ", R"(1:8: not valid TOML: Error while parsing key-value pair: expected value, saw '\n')"},
      {"= 100", "= 100 rows", "5:18: not valid TOML: Error while parsing key-value pair: expected a comment or whitespace, saw 'r'"},
      {"slo_ms = 20", "slo_ms = 20\nslo_ms = 30", "21:10: not valid TOML: Error while parsing key-value pair: cannot redefine existing integer 'slo_ms'"},
  });
}

TEST_CASE("nodes must be distinct, reachable and make a cluster") {
  check_clusters(good_cluster, {
      {"\"worker\"\nroles", "\"head\"\nroles", "12:8: node.name: node 'head' is already defined in line 7; choose another name"},
      {"7702", "7701", "14:16: node.control_port: 7701 is already the control_port of node 'head' on 127.0.0.1; choose another port"},
      {"7702", "8080\nhost = \"localhost\"", "14:16: node.control_port: 8080 is already the http_port of node 'head' on 127.0.0.1; choose another port"},
      {"8080", "8080\ndata_port = 8080", "11:13: node.data_port: 8080 is already the http_port of node 'head' on 127.0.0.1; choose another port"},
      {"8080", "8080\ndata_port = \"7700-7709\"", "11:13: node.data_port: 7701 is the control_port of node 'head' on 127.0.0.1; choose another range"},
      {"8080", "8080\ndata_port = \"7800-7799\"", R"(11:13: node.data_port: must be a port or a range of ports such as "7710-7719", not "7800-7799")"},
      {"8080", "8080\ndata_port = \"7800\"", R"(11:13: node.data_port: must be a port or a range of ports such as "7710-7719", not "7800")"},
      {"8080", "8080\ndata_port = \"7800-70000\"", R"(11:13: node.data_port: must be a port or a range of ports such as "7710-7719", not "7800-70000")"},
      {"7702", "7702\nhttp_port = 1", R"(15:13: node.http_port: only a gateway listens for HTTP; add the role "gateway" or remove the port)"},
      {"7702", "7702\nhost = \"\"", "15:8: node.host: must be a host name or an address, not \"\""},
      {R"(["worker"])", R"(["worker", "workr"])", R"(13:20: node.roles: holds "workr"; did you mean 'worker'?)"},
      {R"(["worker"])", R"(["worker", "worker"])", R"(13:20: node.roles: holds "worker" twice; remove one)"},
      {R"(["worker"])", R"(["worker", 3])", R"(13:20: node.roles: holds 3; it must be an array of "gateway", "scheduler", "worker", "standby")"},
      {R"(["worker"])", R"(["worker", "scheduler"])", R"(13:9: node.roles: node 'head' is the scheduler already; remove the role "scheduler" here, or replace it with "standby")"},
      {R"(, "scheduler"])", R"(, "scheduler", "standby"])", R"(8:9: node.roles: the scheduler cannot be its own standby; give the role "standby" to another node, preferably on another host)"},
      {R"(, "scheduler"])", R"(, "standby"])", R"(6:1: node: no node is the scheduler; add "scheduler" to the roles of one)"},
      {R"(, "scheduler"])", "]", R"(6:1: node: no node is the scheduler; add "scheduler" to the roles of one)"},
      {"[[node.device]]\nkind = \"emulated\"\ncount = 2\n", "", "13:9: node.roles: a worker needs a device or a language model; add a [[node.device]] to it, or an [[llm]] that names it"},
      {"8080", "8080\n[[node.device]]\nkind = \"emulated\"", R"(8:9: node.roles: only a worker uses devices; add the role "worker" or remove its [[node.device]])"},
      {"count = 2", "threads = 2", "17:11: node.device.threads: only a cpu device has threads; remove it"},
      {"count = 2", "gpu = 0", "17:7: node.device.gpu: only a cuda device has a GPU; remove it"},
      {"count = 2", "exact = true", "17:9: node.device.exact: only a cuda device rounds to TF32; remove it"},
  });
}

TEST_CASE("a link joins nodes that exist") {
  check_clusters(good_cluster, {
      {"", "[[link]]\ngbit_per_s = 10\nnodes = [\"head\", \"wroker\"]\n", R"(24:18: link.nodes: holds "wroker"; did you mean 'worker'?)"},
      {"", "[[link]]\ngbit_per_s = 10\nnodes = []\n", R"(24:9: link.nodes: must be an array of "head", "worker", not an array)"},
      {"", "[[link]]\ngbit_per_s = 10\nnodes = [\"head\"]\n[[link]]\ngbit_per_s = 20\nnodes = [\"worker\", \"head\"]\n", R"(27:9: link.nodes: holds "head", whose link is in line 24 already)"},
  });
}

TEST_CASE("only links that are given can be paced") {
  check_clusters(good_cluster, {
      {"", "[links]\npace = true\n", "23:8: links.pace: needs the rates of links; add a [[link]] with nodes and gbit_per_s, or remove pace"},
      {"", "[links]\npace = 1\n", "23:8: links.pace: must be true or false, not 1"},
      {"", "[links]\npaced = true\n", "23:1: links: unknown key 'paced'; did you mean 'pace'?"},
  });
}

TEST_CASE("a link's switch and scale-up domain have one rate each") {
#define TWO_LINKS(first, second)                                     \
  "[[link]]\ngbit_per_s = 10\nnodes = [\"head\"]\n" first             \
  "\n[[link]]\ngbit_per_s = 10\nnodes = [\"worker\"]\n" second "\n"
  check_clusters(good_cluster, {
      {"", TWO_LINKS("uplink_gbit_per_s = 5", ""), "25:21: link.uplink_gbit_per_s: is the rate of a leaf switch; name the switch in leaf"},
      {"", TWO_LINKS("scale_up_gbit_per_s = 5", ""), "25:23: link.scale_up_gbit_per_s: is the rate of a scale-up domain; name the domain in scale_up_domain"},
      {"", TWO_LINKS("scale_up_domain = \"n\"", ""), "22:1: link.scale_up_gbit_per_s: is missing; it must be a number of Gbit/s in 0.001..100000"},
      {"", TWO_LINKS("leaf = \"\"", ""), "25:8: link.leaf: must be a name of up to 64 letters, digits, '_', '-' and '.', not \"\""},
      {"", TWO_LINKS("leaf = \"l\"\nuplink_gbit_per_s = 5", "leaf = \"l\"\nuplink_gbit_per_s = 6"), "31:21: link.uplink_gbit_per_s: is 6 for the leaf 'l', and 5 in an earlier [[link]]; give one rate for it"},
      {"", TWO_LINKS("host_to_device_gbit_per_s = 0", ""), "25:29: link.host_to_device_gbit_per_s: must be a number of Gbit/s in 0.001..100000, not 0"},
  });
#undef TWO_LINKS
}

TEST_CASE("advice on the number of GPUs can only be applied to emulated ones, and within bounds that make sense") {
  check_clusters(good_cluster, {
      {"", "[autoscale]\nmode = \"aply\"\n", R"(23:8: autoscale.mode: must be one of "off", "advise", "apply", not "aply"; did you mean 'apply'?)"},
      {"", "[autoscale]\nmin_gpus = 4\nmax_gpus = 3\n", "24:12: autoscale.max_gpus: must be min_gpus or more, or 0 for any number"},
      {"", "[autoscale]\nwindow_s = 0\n", "23:12: autoscale.window_s: must be seconds in 0.1..86400, not 0"},
  });
  const auto cpu = read(changed(changed(good_cluster, "emulated", "cpu"), "", "[autoscale]\nmode = \"apply\"\n"));
  CHECK(listed(cpu.problems).find("cluster.toml:23:8: autoscale.mode: \"apply\" takes emulated devices out of "
                                  "service, and no node has any; give \"advise\"") != std::string::npos);
}

TEST_CASE("an emulated device needs a profile, an SLO must be possible, a model is defined once") {
  check_clusters(good_cluster, {
      {"{ alpha_ms = 1, beta_ms = 5 }", R"("measure")", "21:11: model.profile: an emulated device (node 'worker') cannot be measured; give { alpha_ms, beta_ms } or { file, name }"},
      {"profile = { alpha_ms = 1, beta_ms = 5 }\n", "", "18:1: model.profile: an emulated device (node 'worker') cannot be measured; give { alpha_ms, beta_ms } or { file, name }"},
      {"{ alpha_ms = 1, beta_ms = 5 }", "{ alpha_ms = 0, beta_ms = 0 }", "21:24: model.profile.alpha_ms: alpha_ms and beta_ms cannot both be 0"},
      {"slo_ms = 20", "slo_ms = 6.5", "20:10: model.slo_ms: 6.5 ms cannot be met: a batch of one takes 6 ms, its transfer 0.22 ms, response and margin of [policy] 1.5 ms; give at least 7.72"},
      {"", "[[model]]\nname = \"m\"\nslo_ms = 20\nprofile = { alpha_ms = 1, beta_ms = 5 }\n", "23:8: model.name: model 'm' is already defined in line 19; choose another name"},
      {"slo_ms = 20", "slo_ms = 20\nsource = \"mpl.onnx\"", "21:10: model.source: " TROUPE_FIXTURES "/onnx/mpl.onnx cannot be read: No such file or directory"},
      {"slo_ms = 20", "slo_ms = 20\nsource = 5", "21:10: model.source: must be the path of an ONNX file, relative to this file, not 5"},
      {"slo_ms = 20", "slo_ms = 20\nsource = \"\"", "21:10: model.source: must be the path of an ONNX file, relative to this file, not \"\""},
      {"slo_ms = 20", "slo_ms = 20\nsource = \".\"", "21:10: model.source: " TROUPE_FIXTURES "/onnx/ cannot be read: it is a directory"},
      {"slo_ms = 20", "slo_ms = 20\nsource = \"/dev/zero\"", "21:10: model.source: /dev/zero cannot be read: it is a device"},
      {"slo_ms = 20", "slo_ms = 20\nsource = \"mlp.onnx\"\ninput_bytes = 4", "22:15: model.input_bytes: the ONNX file defines it; remove this key or the source"},
      {R"("emulated")", R"("cpu")", "18:1: model.source: is missing; it must be the path of an ONNX file, relative to this file"},
      {"{ alpha_ms = 1, beta_ms = 5 }", R"({ file = "none.csv" })", "21:20: model.profile.file: " TROUPE_FIXTURES "/onnx/none.csv: cannot be read: No such file or directory"},
  });
}

TEST_CASE("a build without CUDA has no GPUs for devices") {
#ifndef TROUPE_CUDA
  check_clusters(changed(good_cluster, "slo_ms = 20", "slo_ms = 20\nsource = \"mlp.onnx\""), {
      {R"("emulated")", R"("cuda")", R"(16:8: node.device.kind: this build has no CUDA; configure it with -DTROUPE_CUDA=ON, or use "cpu" or "emulated")"},
  });
#endif
}

TEST_CASE("limits must leave a healthy node alive and a body fit into the pool") {
  check_clusters(good_cluster, {
      {"queue_rows = 100", "heartbeat_ms = 100\nnode_timeout_ms = 150", "6:19: limits.node_timeout_ms: 150 is less than two heartbeats of 100 ms, so one late heartbeat would mark a node as failed; give at least 200"},
      {"queue_rows = 100", "http_bodies_mb = 100", "5:18: limits.http_bodies_mb: a body of 64 MiB would be more than half of it and could not be read; give at least 128 or a smaller body_mb"},
      {"queue_rows = 100", "pool_mb = 32", "4:1: limits.body_mb: a body of 64 MiB does not fit into the pool; give at most pool_mb = 32 or a larger pool"},
  });
}

// clang-format on

TEST_CASE("a profile's name is looked up in its file, and a bad file's problems are reported once") {
  const auto given = [](const std::string& profile) {
    return changed(good_cluster, "{ alpha_ms = 1, beta_ms = 5 }", profile);
  };
  const std::string a100 = TROUPE_EXAMPLES "/profiles/a100.csv";
  CHECK(listed(read(given("{ file = \"" + a100 + "\", name = \"ResNet5O\" }")).problems)
            .ends_with(": model.profile.name: " + a100 +
                       " has no profile of 'ResNet5O'; did you mean 'ResNet50'?\n"));

  const auto said = listed(read(given("{ file = \"mlp.json\" }\n[[model]]\nname = \"n\"\n"
                                      "profile = { file = \"mlp.json\" }"))
                               .problems);
  CHECK(said == TROUPE_FIXTURES
        "/onnx/mlp.json:1:1: the first line must be model,alpha_ms,beta_ms or "
        "model,alpha_ms,beta_ms,slo_ms\n");
}

TEST_CASE("all problems are reported at once, in the order of the file") {
  auto text = changed(good_cluster, "deferred", "later");
  text = changed(text, "7701", "-1");
  text = changed(text, "count = 2", "coutn = 2");
  text = changed(text, "slo_ms = 20", "slo_ms = \"20\"");
  CHECK(
      listed(read(text).problems) ==
      R"(cluster.toml:3:12: policy.batching: must be one of "deferred", "eager", "timeout", "clockwork", "nexus", not "later"
cluster.toml:9:16: node.control_port: must be an integer in 1..65535, not -1
cluster.toml:17:1: node.device: unknown key 'coutn'; did you mean 'count'?
cluster.toml:20:10: model.slo_ms: must be milliseconds in 0.001..3600000, not "20"
)");
}

TEST_CASE("the problem of an empty file lists the parts of a cluster") {
  CHECK(listed(read("").problems) ==
        R"(cluster.toml:1:1: name: is missing; it must be a name of up to 64 letters, digits, '_', '-' and '.'
cluster.toml:1:1: node: is missing; describe each process of the cluster in a [[node]] section
cluster.toml:1:1: model: is missing; describe each model to serve in a [[model]] section, each language model in an [[llm]] section, or each encoder of texts in an [[encoder]] section
)");
}

TEST_CASE("pipes are refused as weights and profiles, because reading one may block forever") {
  const auto pipe = std::filesystem::temp_directory_path() / ("troupe_pipe_" + std::to_string(getpid()));
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& key :
       {"source = \"" + pipe.string() + "\"", "profile = { file = \"" + pipe.string() + "\" }"}) {
    auto text = changed(good_cluster, "profile = { alpha_ms = 1, beta_ms = 5 }", key);
    if (key.starts_with("source")) text += "profile = { alpha_ms = 1, beta_ms = 5 }\n";
    CHECK(listed(read(text).problems).find("cannot be read: it is a pipe") != std::string::npos);
  }
  std::filesystem::remove(pipe);
}

TEST_CASE("a file that cannot be an ONNX model is refused by its size or first byte, and not hashed") {
  const temporary_folder folder;
  const auto said = [&](const std::string& content, uint64_t bytes) {
    const auto file = folder.write("m.onnx", content);
    std::filesystem::resize_file(file, bytes);
    return listed(
        read(changed(good_cluster, "slo_ms = 20", "slo_ms = 20\nsource = \"" + file.string() + "\""))
            .problems);
  };
  const auto where = "cluster.toml:21:10: model.source: " + (folder / "m.onnx").string();
  CHECK(
      said("\x08\x07", uint64_t{1} << 40) ==
      where +
          " has 1099511627776 bytes; an ONNX file has at most 2147483647 (2 GiB, protobuf's limit); give the "
          "path of an ONNX file\n");
  CHECK(said("", uint64_t{1} << 30) == where +
                                           " begins with a zero byte, as no ONNX file does; give the path of "
                                           "an ONNX file, or write it again\n");
}

TEST_CASE("a file that cannot be read is one problem") {
  CHECK(listed(read_cluster("/nowhere/cluster.toml").problems) ==
        "/nowhere/cluster.toml: cannot be read: No such file or directory\n");
  CHECK(listed(read_cluster("/").problems) == "/: cannot be read: it is a directory\n");
}

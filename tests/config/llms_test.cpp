#include <filesystem>
#include <fstream>

#include "config/workload_file.hpp"
#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

// Relative to the folder of the file that `read` simulates.
constexpr std::string_view tasks = R"([[llm]]
name = "tasks"
model = "../llama-tasks/base"
)";
const std::string base = std::filesystem::path(TROUPE_FIXTURES "/llama-tasks/base").lexically_normal();

cluster_reading with(std::string_view keys) {
  return read(std::string(good_cluster) + std::string(tasks) + std::string(keys));
}

/// The problems without the file's name and position.
std::string said(const cluster_reading& r) {
  std::string out;
  for (const auto& p : r.problems) out += (out.empty() ? "" : "\n") + p.text;
  return out;
}
std::string said(std::string_view keys) { return said(with(keys)); }

/// A cluster file with language models only: no [[model]] and no device.
std::string only_llms() {
  std::string text{good_cluster};
  text.erase(text.find("[[model]]"));
  text = changed(text, "[[node.device]]\nkind = \"emulated\"\ncount = 2\n", "");
  return text + std::string(tasks);
}

constexpr std::string_view another_worker = R"([[node]]
name = "other"
roles = ["worker"]
control_port = 7703
)";

}  // namespace

TEST_CASE("a language model needs a name and a checkpoint, the rest has defaults") {
  const auto cluster = with("");
  REQUIRE(listed(cluster.problems) == "");
  REQUIRE(cluster.spec.llms.size() == 1);
  const auto& m = cluster.spec.llms[0];
  CHECK(m.name == "tasks");
  CHECK(m.path == base);
  REQUIRE(cluster.spec.engines.size() == 1);
  CHECK(cluster.spec.engines[0].node == node_id{1});
  CHECK(m.type == llm_type::f32);
  CHECK(m.threads == 1);
  CHECK(m.kv_bytes == 256 << 20);
  CHECK(m.block_tokens == 16);
  CHECK(m.max_sequences == 32);
  CHECK(m.max_waiting == 1024);
  CHECK(m.prefill_chunk == 512);
  CHECK(m.prefix_cache);
  CHECK(m.max_choices == 16);
  CHECK(m.timeout == 600s);
  CHECK(m.adapter_directory.empty());
  CHECK(m.adapter_slots == 8);
  CHECK(m.adapter_bytes == 1u << 30);
  CHECK_FALSE(m.adapter_api);
}

TEST_CASE("every key of a language model is read in its unit") {
  const auto cluster = with(R"(node = "worker"
dtype = "bf16"
threads = 4
kv_mb = 0.5e3
block_tokens = 32
max_sequences = 64
max_waiting = 100
prefill_chunk = 256
mix_adapters = false
prefix_cache = false
prefill = "deferred"
max_choices = 4
timeout_s = 1.5
adapters = "../llama-tasks/adapters"
adapter_slots = 2
adapter_mb = 10
adapter_api = true
)");
  REQUIRE(listed(cluster.problems) == "");
  const auto& m = cluster.spec.llms.at(0);
  REQUIRE(cluster.spec.engines.size() == 1);
  CHECK(cluster.spec.engines[0].node == node_id{1});
  CHECK(m.type == llm_type::bf16);
  CHECK(m.threads == 4);
  CHECK(m.kv_bytes == 500 << 20);
  CHECK(m.block_tokens == 32);
  CHECK(m.max_sequences == 64);
  CHECK(m.max_waiting == 100);
  CHECK(m.prefill_chunk == 256);
  CHECK_FALSE(m.mix_adapters);
  CHECK_FALSE(m.prefix_cache);
  CHECK(m.prefill == "deferred");
  CHECK(m.max_choices == 4);
  CHECK(m.timeout == 1500ms);
  CHECK(m.adapter_directory == TROUPE_FIXTURES "/llama-tasks/adapters");
  CHECK(m.adapter_slots == 2);
  CHECK(m.adapter_bytes == 10 << 20);
  CHECK(m.adapter_api);
  CHECK(with("dtype = \"f16\"").spec.llms.at(0).type == llm_type::f16);
  CHECK(said("adapter_slots = 0") == "");
}

TEST_CASE("a problem of a language model is reported at its key, with the fix") {
  const auto problem = [](std::string_view keys) {
    auto said = listed(with(keys).problems);
    return said.substr(std::string_view("cluster.toml:").size());
  };
  CHECK(problem("dtype = \"fb16\"") ==
        "25:9: llm.dtype: must be one of \"f32\", \"bf16\", \"f16\", not \"fb16\"; did you mean 'bf16'?\n");
  CHECK(problem("block_tokens = 12") ==
        "25:16: llm.block_tokens: must be a power of two, not 12; give 8 or 16\n");
  CHECK(problem("block_tokens = 512") == "25:16: llm.block_tokens: must be an integer in 1..256, not 512\n");
  CHECK(problem("kv_mb = 0") == "25:9: llm.kv_mb: must be MiB in 1..100000000, not 0\n");
  CHECK(problem("timeout_s = 0") == "25:13: llm.timeout_s: must be seconds in 0.001..604800, not 0\n");
  CHECK(problem("max_waiting = 4\nmax_choices = 5") ==
        "26:15: llm.max_choices: 5 sequences of one request do not fit into the queue; give at most "
        "max_waiting = 4\n");
  CHECK(problem("max_waiting = 0") == "25:15: llm.max_waiting: must be an integer in 1..16777216, not 0\n");
  CHECK(problem("adapter_slots = -1") ==
        "25:17: llm.adapter_slots: must be an integer in 0..65536, not -1\n");
  CHECK(problem("adapter_api = 1") == "25:15: llm.adapter_api: must be true or false, not 1\n");
  CHECK(problem("kv_md = 1") == "25:1: llm: unknown key 'kv_md'; did you mean 'kv_mb'?\n");
  CHECK(problem("adapters = \"none\"") ==
        "25:12: llm.adapters: " TROUPE_FIXTURES
        "/onnx/none is not a folder; give one that holds a folder for each adapter\n");
  CHECK(problem("adapters = \"../llama-tasks/adapters\"\nadapter_slots = 0\nadapter_api = true") ==
        "25:12: llm.adapters: adapters need slots on the device; give adapter_slots = 1 or more, or remove "
        "this key\n"
        "cluster.toml:27:15: llm.adapter_api: adapters need slots on the device; give adapter_slots = 1 or "
        "more, or remove this key\n");
  CHECK(
      listed(read(std::string(good_cluster) + "[[llm]]\n").problems) ==
      "cluster.toml:22:1: llm.name: is missing; it must be a name of up to 64 letters, digits, '_', '-' and "
      "'.', or several joined by '/' to 128 characters at most\n"
      "cluster.toml:22:1: llm.model: is missing; it must be the folder of a Hugging Face checkpoint, "
      "relative to this file\n");
}

TEST_CASE("a checkpoint is a folder with a config.json") {
  const auto problem = [](const std::string& model) {
    return said(read(changed(std::string(good_cluster) + std::string(tasks), "../llama-tasks/base", model)));
  };
  const temporary_folder folder;
  CHECK(
      problem("../llama-task/base") ==
      "llm.model: " TROUPE_FIXTURES
      "/llama-task/base is not a folder; give the folder of a Hugging Face checkpoint, with its config.json");
  CHECK(problem("mlp.onnx") ==
        "llm.model: " TROUPE_FIXTURES
        "/onnx/mlp.onnx is not a folder; give the folder of a Hugging Face checkpoint, with its config.json");
  CHECK(problem(folder.path) ==
        "llm.model: " + (folder / "config.json").string() +
            " cannot be read: No such file or directory; a Hugging Face checkpoint needs this file");
  std::filesystem::create_directory(folder / "config.json");
  CHECK(problem(folder.path) ==
        "llm.model: " + (folder / "config.json").string() +
            " cannot be read: it is a directory; a Hugging Face checkpoint needs this file");
  std::filesystem::remove(folder / "config.json");
  std::filesystem::resize_file(folder.write("config.json", ""), uint64_t{1} << 40);  // and is not hashed
  CHECK(problem(folder.path) ==
        "llm.model: " + (folder / "config.json").string() +
            " cannot be read: it is larger than 64 MiB; a Hugging Face checkpoint needs this file");
}

TEST_CASE("models and language models share one space of names") {
  const std::string again = "[[llm]]\nname = \"tasks\"\nmodel = \"../llama-tasks/base\"\n";
  CHECK(listed(with(again).problems) ==
        "cluster.toml:26:8: llm.name: language model 'tasks' is already defined in line 23; choose another "
        "name\n");
  CHECK(listed(with(changed(again, "\"tasks\"", "\"m\"")).problems) ==
        "cluster.toml:26:8: llm.name: model 'm' is already defined in line 19; choose another name\n");
  CHECK(said(with(changed(again, "\"tasks\"", "\"n\""))) == "");
}

TEST_CASE("names of language models may be joined by slashes") {
  const std::string another = "[[llm]]\nname = \"meta-llama/Llama-2-7b\"\nmodel = \"../llama-tasks/base\"\n";
  CHECK(said(with(another)) == "");
  for (const auto* bad : {"\"/a\"", "\"a/\"", "\"a//b\"", "\"a b/c\"", "7"})
    CHECK(listed(with(changed(another, "\"meta-llama/Llama-2-7b\"", bad)).problems)
              .find("or several joined by '/'") != std::string::npos);
}

TEST_CASE("a language model's worker must be named if there are several") {
  const auto problem = [](std::string_view keys) {
    return said(
        read(changed(good_cluster, "[[model]]",
                     std::string(another_worker) + "[[node.device]]\nkind = \"emulated\"\n[[model]]") +
             std::string(tasks) + std::string(keys)));
  };
  CHECK(problem("") == "llm.node: is missing; it must be one of \"worker\", \"other\"");
  CHECK(problem("node = \"other\"") == "");
  CHECK(problem("node = \"wroker\"") ==
        "llm.node: must be one of \"worker\", \"other\", not \"wroker\"; did you mean 'worker'?");
  CHECK(said("node = \"wroker\"") ==
        "llm.node: must be one of \"worker\", not \"wroker\"; did you mean 'worker'?");
  CHECK(said("node = \"head\"") ==
        "llm.node: node 'head' is not a worker; add \"worker\" to its roles, or name a worker");
}

TEST_CASE("a cluster may have only language models, and a worker of one needs no device") {
  const auto cluster = read(only_llms());
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.models.empty());
  CHECK(cluster.spec.slots.empty());
  CHECK(cluster.spec.engines.at(0).node == node_id{1});
  CHECK(cluster.spec.hash.size() == 16);
}

TEST_CASE("a language model may have several engines, on several nodes") {
  const auto on = [](std::string_view keys) {
    return read(only_llms() + std::string(keys) + std::string(another_worker));
  };
  const auto cluster =
      on("nodes = [\"worker\", \"other\"]\nengines_per_node = 2\n"
         "routing = \"affinity\"\nconsolidate_s = 2.5\n");
  REQUIRE(listed(cluster.problems) == "");
  std::vector<uint32_t> nodes;
  for (const auto& e : cluster.spec.engines) nodes.push_back(e.node.value);
  CHECK(nodes == std::vector<uint32_t>{1, 1, 2, 2});
  CHECK(engines_of(cluster.spec, llm_id{0}).size() == 4);
  CHECK(cluster.spec.llms[0].routing == "affinity");
  CHECK(cluster.spec.llms[0].consolidate_every == 2500ms);
  CHECK(said(on("nodes = [\"worker\", \"other\"]\nnode = \"other\"\n")) ==
        "llm.node: \"nodes\" is given too; remove one of the two");
  CHECK(said(on("nodes = [\"othre\"]\n")).find("did you mean 'other'?") != std::string::npos);
  CHECK(said(on("nodes = [\"worker\", \"other\"]\nrouting = \"punika\"\n")).find("did you mean 'punica'?") !=
        std::string::npos);
}

TEST_CASE("a worker has a device or a language model") {
  const auto text =
      changed(only_llms(), "[[llm]]", std::string(another_worker) + "[[llm]]\nnode = \"worker\"");
  CHECK(said(read(text)) ==
        "node.roles: a worker needs a device or a language model; add a [[node.device]] to it, or an [[llm]] "
        "that names it");
  CHECK(said(read(changed(text, "7703", "7703\ndevice = []"))).starts_with("node.roles: a worker needs"));
  CHECK(said(read(changed(text, "node = \"worker\"", "node = \"wroker\""))) ==
        "llm.node: must be one of \"worker\", \"other\", not \"wroker\"; did you mean 'worker'?");
}

TEST_CASE("a model needs a device somewhere, also one that is loaded later") {
  const auto model = "[[model]]\nname = \"m\"\nslo_ms = 20\nprofile = { alpha_ms = 1, beta_ms = 5 }\n";
  CHECK(said(read(only_llms() + model)) ==
        "model: no worker has a device for model 'm'; add a [[node.device]] to one");
  const auto later = read_model_text("name = \"m\"\nslo_ms = 20\nprofile = { alpha_ms = 1, beta_ms = 5 }\n",
                                     "m.toml", read(only_llms()).spec, ".");
  CHECK(listed(later.problems) ==
        "m.toml:1:1: no worker has a device for it; add a [[node.device]] to a worker in the cluster file\n");

  const auto domains =
      changed(changed(only_llms(), "roles = [\"worker\"]", "roles = [\"worker\"]\ndomain = \"a\""),
              "[policy]", "[[domain]]\nname = \"a\"\n[policy]");
  CHECK(said(read(domains)) == "");
  CHECK(said(read(domains + model + "domain = \"a\"\n")) ==
        "model: no worker of domain 'a' has a device for model 'm'; add a [[node.device]] to one");
}

TEST_CASE("a workload cannot be simulated without models") {
  const auto cluster = read(only_llms());
  const auto workload = read_workload_text("duration_s = 10\nrate_rps = 1\n", "w.toml", cluster.spec);
  CHECK(listed(workload.problems) ==
        "w.toml: needs a [[model]] in the cluster file: language models cannot be simulated with a workload "
        "file\n");
}

TEST_CASE("a tenant may use a language model") {
  const auto cluster = with("[[tenant]]\nname = \"t\"\nkey = \"0123456789abcdef\"\nmodels = [\"tasks\"]\n");
  REQUIRE(listed(cluster.problems) == "");
  CHECK(cluster.spec.tenants[0].models == std::vector<std::string>{"tasks"});
}

TEST_CASE("a dumped language model reads back to the same, wherever it is read") {
  const auto first = with("adapters = \"../llama-tasks/adapters/\"\nkv_mb = 100\n");
  REQUIRE(listed(first.problems) == "");
  const auto dump = to_toml(first.effective);
  CHECK(dump.find("model = \"" + base + "\"") != std::string::npos);
  CHECK(dump.find("node = \"worker\"") != std::string::npos);
  const auto again = read_cluster_text(dump, "dump.toml", "/elsewhere");
  REQUIRE(listed(again.problems) == "");
  CHECK(again.spec.hash == first.spec.hash);
  const auto &a = first.spec.llms.at(0), &b = again.spec.llms.at(0);
  CHECK(a.path == b.path);
  CHECK(std::filesystem::path(a.adapter_directory) / "" == std::filesystem::path(b.adapter_directory) / "");
  CHECK(a.kv_bytes == b.kv_bytes);
  CHECK(first.spec.engines.at(0).node == again.spec.engines.at(0).node);
}

TEST_CASE("the hash depends on a language model's keys and its config.json, not on where they lie") {
  const auto hash_in = [](const temporary_folder& at, std::string_view keys = "") {
    const auto text =
        std::string(good_cluster) + "[[llm]]\nname = \"tasks\"\nmodel = \"base\"\n" + std::string(keys);
    const auto cluster = read_cluster_text(text, "cluster.toml", at.path);
    CHECK(listed(cluster.problems) == "");
    return cluster.spec.hash;
  };
  const temporary_folder a, b;
  for (const auto* folder : {&a, &b}) {
    for (const auto* name : {"base", "adapters", "others"}) std::filesystem::create_directory(*folder / name);
    folder->write("base/config.json", "{}");
  }
  const auto hash = hash_in(a);
  CHECK(hash != read(good_cluster).spec.hash);
  CHECK(hash_in(b) == hash);
  CHECK(hash_in(b, "adapter_slots = 8") == hash);
  CHECK(hash_in(b, "adapter_slots = 9") != hash);
  CHECK(hash_in(b, "adapters = \"adapters\"") != hash);
  CHECK(hash_in(b, "adapters = \"adapters\"") == hash_in(a, "adapters = \"./adapters/\""));
  CHECK(hash_in(b, "adapters = \"adapters\"") != hash_in(b, "adapters = \"others\""));
  b.write("base/config.json", "{ }");
  CHECK(hash_in(b) != hash);
}

TEST_CASE("an emulated device needs a readable profile, and its keys are refused for other devices") {
  const std::string profile = TROUPE_EXAMPLES "/profiles/punica-7b-a100.toml";
  const auto right = with("device = \"emulated\"\nprofile = \"" + profile +
                          "\"\nmax_positions = 4096\njitter = 0.1\nemulated_adapters = 100\n");
  REQUIRE(listed(right.problems) == "");
  const auto& m = right.spec.llms[0];
  CHECK(m.device == device_kind::emulated);
  CHECK(m.profile.kv_token_bytes == 524288);
  CHECK(m.max_positions == 4096);
  CHECK(m.jitter == 0.1);
  CHECK(m.emulated_adapters == 100);
  CHECK(said("device = \"emulated\"\n").find("profile: is missing") != std::string::npos);
  CHECK(said("device = \"emulated\"\nprofile = \"/nowhere.toml\"\n").find("No such file") !=
        std::string::npos);
  CHECK(said("device = \"tpu\"\n").find("device: ") != std::string::npos);
  CHECK(said("jitter = 0.1\n") == "llm.jitter: is for device = \"emulated\"; add that, or remove this key");
}

TEST_CASE("a GPU computes in 16 bits, if the build has CUDA") {
  const std::string missing =
      "llm.device: this build has no CUDA; configure it with -DTROUPE_CUDA=ON, or use \"cpu\" or "
      "\"emulated\"";
#ifdef TROUPE_CUDA
  const auto read = with("device = \"cuda\"\n");
  REQUIRE(listed(read.problems) == "");
  CHECK(read.spec.llms[0].device == device_kind::cuda);
  CHECK(read.spec.llms[0].type == llm_type::bf16);
  CHECK(with("device = \"cuda\"\ndtype = \"f16\"\n").spec.llms[0].type == llm_type::f16);
  CHECK(read.spec.llms[0].tensor_parallel == 1);
  CHECK(with("device = \"cuda\"\ntensor_parallel = 4\n").spec.llms[0].tensor_parallel == 4);
  CHECK(read.spec.llms[0].graphs);
  CHECK_FALSE(with("device = \"cuda\"\ngraphs = false\n").spec.llms[0].graphs);
#else
  CHECK(said("device = \"cuda\"\n") == missing);
#endif
  const auto has = [](const std::string& keys, const std::string& problem) {
    return said("device = \"cuda\"\n" + keys).find(problem) != std::string::npos;
  };
  CHECK(has("dtype = \"f32\"\n", "llm.dtype: a GPU computes in 16 bits; give \"bf16\" or \"f16\""));
  CHECK(has("threads = 2\n", "llm.threads: is for device = \"cpu\"; remove this key"));
  CHECK(has("tensor_parallel = 0\n", "llm.tensor_parallel"));
  CHECK(said("tensor_parallel = 2\n").find("llm.tensor_parallel: is for device = \"cuda\"") !=
        std::string::npos);
  CHECK(has("jitter = 0.1\n", "llm.jitter: is for device = \"emulated\""));
}

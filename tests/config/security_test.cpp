#include "config/security.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"
#include "transport/tls/api_key.hpp"

using namespace troupe;

namespace {

cluster_reading with_security(const std::string& more) { return read(std::string(good_cluster) + more); }

constexpr auto good_key = "0123456789abcdef";

}  // namespace

TEST_CASE("tenants have names, keys, limits and models, and of a key only the digest is kept") {
  const auto c = with_security(R"(
[admin]
key_sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
[[tenant]]
name = "search"
key = "0123456789abcdef"
rate_rps = 100
concurrency = 5
models = ["m"]
priority = -2
ttft_ms = 500
tpot_ms = 40
[[tenant]]
name = "ads"
key = "another key of 24 letters"
rate_rps = 0.5
burst = 7
)");
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  const auto& tenants = c.spec.tenants;
  REQUIRE(tenants.size() == 2);
  CHECK(tenants[0].name == "search");
  CHECK(same_key(tenants[0].key.digest, digest_of(good_key)));
  CHECK(tenants[0].rate_rps == 100);
  CHECK(tenants[0].burst == 100);
  CHECK(tenants[0].concurrency == 5);
  CHECK(tenants[0].models == std::vector<std::string>{"m"});
  CHECK(tenants[0].targets == generation_targets{-2, 500ms, 40ms});
  CHECK(tenants[1].targets == generation_targets{});
  CHECK(tenants[1].burst == 7);
  CHECK(tenants[1].concurrency == 0);
  CHECK(tenants[1].models.empty());
  REQUIRE(c.spec.security.admin);
  CHECK(same_key(c.spec.security.admin->digest, digest_of("abc")));
}

TEST_CASE("neither config dump nor the input of the hash contains a key") {
  const auto one = with_security("[admin]\nkey = \"0123456789abcdef\"\n");
  const auto other = with_security("[admin]\nkey = \"fedcba9876543210\"\n");
  REQUIRE(one.ok());
  for (const auto& text : {to_toml(one.effective), to_json(one.effective), meaning(one.effective)})
    CHECK(text.find(good_key) == std::string::npos);
  CHECK(one.spec.hash == other.spec.hash);  // so keys can change while nodes run
}

TEST_CASE("a key file holds one key, and the end of its line is no part of it") {
  const temporary_folder folder;
  const auto file = folder.write("key", "0123456789abcdef\n");
  const auto c = with_security("[[tenant]]\nname = \"t\"\nkey_file = \"" + file.string() + "\"\n");
  REQUIRE_MESSAGE(c.ok(), listed(c.problems));
  CHECK(same_key(c.spec.tenants[0].key.digest, digest_of(good_key)));
  CHECK(c.spec.tenants[0].key.file == file.string());
  auto spec = c.spec;
  folder.write("key", "another 16 letters");
  CHECK(refresh_keys(spec).empty());
  CHECK(same_key(spec.tenants[0].key.digest, digest_of("another 16 letters")));
  folder.write("key", "short");
  CHECK(refresh_keys(spec).size() == 1);
  CHECK(same_key(spec.tenants[0].key.digest, digest_of("another 16 letters")));

  const auto guessable = folder.write("guessable", "secret\n");
  CHECK(read_key_file(guessable).error.find("6 characters") != std::string::npos);
  CHECK(read_key_file("/nowhere/key").error.find("/nowhere/key cannot be read") != std::string::npos);
}

TEST_CASE("a problem of a tenant is reported in one line") {
  const auto said = [](const std::string& text) {
    const auto problems = with_security(text).problems;
    CHECK(problems.size() == 1);
    return problems.empty() ? "" : problems[0].text;
  };
  const std::string t = "[[tenant]]\nname = \"t\"\n";
  CHECK(said(t) == "tenant: has no key; give one of key, key_file and key_sha256");
  CHECK(said(t + "key = \"0123456789abcdef\"\nkey_file = \"f\"\n") ==
        "tenant: has several keys; give one of key, key_file and key_sha256");
  CHECK(said(t + "key = \"short\"\n").find("has 5 characters; give at least") != std::string::npos);
  CHECK(said(t + "key = \"short\"\n").find("\"short\"") == std::string::npos);
  CHECK(said(t + "key_sha256 = \"ab\"\n") ==
        "tenant.key_sha256: must be 64 hex digits, as sha256sum prints them");
  CHECK(said(t + "key = \"0123456789abcdef\"\nburst = 3\n") ==
        "tenant.burst: needs rate_rps; give both or neither");
  CHECK(said(t + "key = \"0123456789abcdef\"\nmodels = \"m\"\n") ==
        "tenant.models: must be an array of strings, not \"m\"");
  CHECK(said(t + "key = \"0123456789abcdef\"\n[[tenant]]\nname = \"u\"\nkey = \"0123456789abcdef\"\n") ==
        "tenant: has the same key as tenant 't'; give each its own");
  CHECK(said(t + "key = \"0123456789abcdef\"\n[admin]\nkey = \"0123456789abcdef\"\n") ==
        "tenant: has the same key as [admin]; give each its own");
}

TEST_CASE("a node listens where it is reached, by default on loopback only") {
  const auto c = read(good_cluster);
  CHECK(c.spec.nodes[0].listen == "127.0.0.1");
  CHECK(c.spec.nodes[0].http_listen == "127.0.0.1");
  CHECK(security_warnings(c.spec).empty());
}

TEST_CASE("a control lane beyond this host without certificates is refused unless insecure is set") {
  const auto open_to_all =
      changed(good_cluster, "control_port = 7701", "control_port = 7701\nlisten = \"0.0.0.0\"");
  const auto refused = read(open_to_all);
  REQUIRE(refused.problems.size() == 2);
  CHECK(to_string(refused.problems[0])
            .find("cluster.toml:10:10: node.listen: node 'head' would accept commands") == 0);
  CHECK(to_string(refused.problems[1])
            .find("cluster.toml:10:10: node.listen: every host that can reach http://") == 0);
  CHECK(refused.problems[0].text.find("troupe certs") != std::string::npos);
  CHECK(read(open_to_all + "[security]\ncertificates = \"certs\"\n").problems.size() == 1);
  CHECK(
      read(open_to_all + "[security]\ncertificates = \"certs\"\n[admin]\nkey = \"0123456789abcdef\"\n").ok());

  const auto meant = read(open_to_all + "[security]\ninsecure = true\n");
  REQUIRE(meant.ok());
  const auto warnings = security_warnings(meant.spec);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[0].find("every host that can reach 0.0.0.0:7701 can send it commands") != std::string::npos);
  CHECK(warnings[1].find("every host that can reach http://0.0.0.0:8080 can use its models") !=
        std::string::npos);
  CHECK(security_warnings(meant.spec, node_id{1}).empty());
}

TEST_CASE("a data lane over UCX between hosts is a warning") {
  const auto far = changed(good_cluster, "control_port = 7702", "control_port = 7702\nhost = \"far\"") +
                   "[security]\ncertificates = \"certs\"\n";
  CHECK(security_warnings(read(far).spec).empty());  // it runs over TLS
  const auto c = read(far + "[data_lane]\ntransport = \"ucx\"\n");
  REQUIRE(c.ok());
  REQUIRE(security_warnings(c.spec).size() == 1);
  CHECK(
      security_warnings(c.spec)[0].find("node 'worker': the data lane is not encrypted and listens on every "
                                        "network device") == 0);
  CHECK(security_warnings(c.spec)[0].find("remove [data_lane] transport = \"ucx\"") != std::string::npos);
  const auto on_eth1 = read(changed(far, "host = \"far\"", "host = \"far\"\ndata_interface = \"eth1\"") +
                            "[data_lane]\ntransport = \"ucx\"\n");
  REQUIRE(security_warnings(on_eth1.spec).size() == 1);
  CHECK(security_warnings(on_eth1.spec)[0].find("listens on the network device eth1") != std::string::npos);
  const auto shared = changed(far, "control_port = 7701", "control_port = 7701\nhost = \"far\"") +
                      "[admin]\nkey = \"0123456789abcdef\"\n[[tenant]]\nname = \"t\"\nkey = "
                      "\"abcdef0123456789\"\n";
  REQUIRE(read(shared).ok());
  CHECK(security_warnings(read(shared).spec).empty());  // on one host there is no network
}

TEST_CASE("HTTP on the network without any key is refused unless insecure is set") {
  const auto far = changed(good_cluster, "8080", "8080\nhttp_listen = \"::\"");
  const auto refused = read(far);
  REQUIRE(refused.problems.size() == 1);
  CHECK(to_string(refused.problems[0])
            .find("cluster.toml:11:15: node.http_listen: every host that can reach http://[::]:8080 could "
                  "load models") == 0);
  CHECK(refused.problems[0].text.find("[admin] and [[tenant]]") != std::string::npos);

  CHECK(read(far + "[[tenant]]\nname = \"t\"\nkey = \"0123456789abcdef\"\n").ok());
  const auto inference = read(far + "[admin]\nkey = \"0123456789abcdef\"\n");
  REQUIRE(inference.ok());
  REQUIRE(security_warnings(inference.spec).size() == 1);
  CHECK(security_warnings(inference.spec)[0].find("can use its models") != std::string::npos);
  const auto meant = read(far + "[security]\ninsecure = true\n");
  REQUIRE(meant.ok());
  CHECK(security_warnings(meant.spec).size() == 1);
}

TEST_CASE("a key file that every user of the host can read is a warning, and one that is a pipe is refused") {
  const temporary_folder folder;
  const auto file = folder.write("admin.key", good_key);
  const auto text = std::string(good_cluster) + "[admin]\nkey_file = \"" + file.string() + "\"\n";
  std::filesystem::permissions(file, std::filesystem::perms(0640));
  CHECK(security_warnings(read(text).spec).empty());
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  const auto warnings = security_warnings(read(text).spec);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == file.string() + ": every user of this host can read this key; chmod o-r it");
  std::filesystem::remove(file);
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  const auto refused = read(text);  // without waiting for a writer
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems[0].text.find("it is a pipe") != std::string::npos);
}

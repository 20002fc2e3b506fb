// Plug-ins in cluster files.
#include "tests/config/cluster_text.hpp"
#include "tests/plugins/plugin_files.hpp"

using namespace troupe;

namespace {

std::string with_plugin(std::string_view more = "") {
  return changed(good_cluster, "[policy]",
                 "[plugins]\nlibraries = [\"" TROUPE_EXAMPLE_PLUGIN "\"]\n" + std::string(more) + "[policy]");
}
std::string problems_of(const std::string& text) { return listed(read(text).problems); }

}  // namespace

TEST_CASE("a policy of a plug-in is chosen by name and gets its parameters, given or default") {
  const auto in = read(changed(with_plugin("[plugins.example]\ncount = 5\n"), "\"deferred\"", "\"example\""));
  REQUIRE_MESSAGE(in.ok(), listed(in.problems));
  CHECK(in.spec.policy.batching == "example");
  CHECK(in.spec.policy.batching_settings.integer("count") == 5);
  CHECK(in.spec.policy.batching_settings.number("share") == 0.25);
  CHECK(in.spec.policy.batching_settings.text("mood") == "good");
  REQUIRE(in.spec.plugins.size() == 1);
  CHECK(in.spec.plugins[0].version == "2.1");
  CHECK(to_toml(in.effective).find("share = 0.25") != std::string::npos);
}

TEST_CASE("parameters are checked like every other key") {
  CHECK(problems_of(with_plugin("[plugins.example]\ncount = 10\n")) ==
        "cluster.toml:5:9: plugins.example.count: must be an integer in 1..9, not 10\n");
  CHECK(problems_of(with_plugin("[plugins.example]\nshare = \"half\"\n")) ==
        "cluster.toml:5:9: plugins.example.share: must be a fraction in 0..1, not \"half\"\n");
  CHECK(problems_of(with_plugin("[plugins.example]\nshar = 1\n")) ==
        "cluster.toml:5:1: plugins.example: unknown key 'shar'; did you mean 'share'?\n");
  CHECK(problems_of(with_plugin("[plugins.exampel]\n")) ==
        "cluster.toml:4:10: plugins: unknown key 'exampel'; did you mean 'example'?\n");
}

TEST_CASE("policies of plug-ins are in the list of valid names") {
  CHECK(problems_of(changed(with_plugin(), "\"deferred\"", "\"exampl\"")) ==
        "cluster.toml:5:12: policy.batching: must be one of \"deferred\", \"eager\", \"timeout\", "
        "\"clockwork\", \"nexus\", \"example\", not \"exampl\"; did you mean 'example'?\n");
}

TEST_CASE("a policy that cannot be created is a problem of the file") {
  const auto made_of = [&](const char* mood) {
    return problems_of(changed(with_plugin("[plugins.example]\nmood = \"" + std::string(mood) + "\"\n"),
                               "\"deferred\"", "\"example\""));
  };
  const std::string start =
      "cluster.toml:7:12: policy.batching: plug-in 'example' (" TROUPE_EXAMPLE_PLUGIN ") ";
  CHECK(made_of("bad") == start + "cannot create the policy: not today\n");
  CHECK(made_of("none") == start + "returned no policy\n");
  CHECK(problems_of(changed(with_plugin(), "[limits]", "matchmaking = \"example\"\n[limits]")) ==
        "cluster.toml:6:15: policy.matchmaking: plug-in 'example' (" TROUPE_EXAMPLE_PLUGIN
        ") cannot create the policy: the parameter 'share' was not declared with this type\n");
}

TEST_CASE("a library that cannot be loaded is the only problem, even if other keys need it") {
  const auto text =
      changed(with_plugin("[plugins.other]\nx = 1\n"), "libraries = [", "libraries = [\"none.so\", ");
  CHECK(problems_of(changed(text, "\"deferred\"", "\"of none\"") +
                    "[[actor]]\nplugin = \"none\"\nkind = \"x\"\nnode = \"head\"\n") ==
        "cluster.toml:3:13: plugins.libraries: " TROUPE_FIXTURES
        "/onnx/none.so cannot be read: No such file or directory\n");
  CHECK(problems_of(changed(with_plugin(), "libraries = [", "libraries = [7, ")) ==
        "cluster.toml:3:13: plugins.libraries: must be an array of strings, not an array\n");
  CHECK(problems_of(changed(with_plugin(), "\"]", "\", \"" TROUPE_EXAMPLE_PLUGIN "\"]"))
            .ends_with("names " TROUPE_EXAMPLE_PLUGIN " twice; remove one\n"));
}

TEST_CASE("an actor names its plug-in, kind and node") {
  const auto with = [](const char* plugin, const char* kind, const char* node) {
    return with_plugin() + "[[actor]]\nplugin = \"" + plugin + "\"\nkind = \"" + kind + "\"\nnode = \"" +
           node + "\"\n";
  };
  const auto in = read(with("example", "listener", "worker"));
  REQUIRE_MESSAGE(in.ok(), listed(in.problems));
  REQUIRE(in.spec.actors.size() == 1);
  CHECK(in.spec.actors[0].plugin == 0);
  CHECK(in.spec.actors[0].kind == "listener");
  CHECK(in.spec.actors[0].node == node_id{1});
  CHECK(problems_of(with("exmple", "listener", "worker")).find("plugin: must be one of \"example\"") !=
        std::string::npos);
  CHECK(problems_of(with("example", "lister", "worker")).find("did you mean 'listener'?") !=
        std::string::npos);
  CHECK(problems_of(with("example", "listener", "wrker")).find("did you mean 'worker'?") !=
        std::string::npos);
}

TEST_CASE("the cluster's hash includes a plug-in's parameters, but not its path") {
  const auto hash = [](const std::string& text) { return read(text).spec.hash; };
  CHECK(hash(with_plugin()) != hash(std::string(good_cluster)));
  CHECK(hash(with_plugin("[plugins.example]\ncount = 3\n")) == hash(with_plugin()));
  CHECK(hash(with_plugin("[plugins.example]\ncount = 4\n")) != hash(with_plugin()));
  const temporary_folder in;
  std::filesystem::create_symlink(TROUPE_EXAMPLE_PLUGIN, in / "link.so");
  CHECK(hash(changed(with_plugin(), TROUPE_EXAMPLE_PLUGIN, (in / "link.so").string())) ==
        hash(with_plugin()));
}

#include "plugins/loader.hpp"

#include <cstddef>

#include "plugins/plugin.hpp"
#include "policies/common/random.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/plugins/plugin_files.hpp"

using namespace troupe;

namespace {

std::string why(const std::filesystem::path& library) {
  try {
    load_plugin(library);
  } catch (const plugin_error& e) {
    return e.what();
  }
  return "loaded";
}

/// The refusal of the example plug-in with this misbehaviour. Loads a copy with a new name each time, because
/// a library is loaded only once.
std::string why_if(const temporary_folder& in, const char* wish) {
  setenv("TROUPE_EXAMPLE_PLUGIN", wish, 1);
  const auto said = why(spoilt(in, std::string(wish) + ".so", offsetof(plugin_descriptor, name),
                               std::string_view("sulky\0", 6)));
  unsetenv("TROUPE_EXAMPLE_PLUGIN");
  return said;
}

}  // namespace

TEST_CASE("a file that is not a plug-in is refused with the reason") {
  const temporary_folder in;
  CHECK(why(in / "none.so") == (in / "none.so").string() + " cannot be read: No such file or directory");
  std::filesystem::create_directory(in / "folder.so");
  CHECK(why(in / "folder.so") == (in / "folder.so").string() + " is not a file");
  const auto text = in.write("text.so", "hello");
  CHECK(why(text) == text.string() + " is not a shared library of this machine");
  auto cut = in.write("cut.so", bytes_of(TROUPE_EXAMPLE_PLUGIN).substr(0, 3000));
  CHECK(why(cut) == cut.string() + " is not a shared library of this machine");
  CHECK(why(TROUPE_PLAIN_LIBRARY) ==
        std::string(TROUPE_PLAIN_LIBRARY) + " is not a plug-in of Troupe: it has no TROUPE_PLUGIN");
  CHECK(why(TROUPE_BROKEN_PLUGIN) ==
        std::string(TROUPE_BROKEN_PLUGIN) +
            " has no function troupe_register_plugin; write TROUPE_PLUGIN(...) { ... }");
}

TEST_CASE("an incompatible plug-in is refused with both versions before its code runs") {
  setenv("TROUPE_EXAMPLE_PLUGIN", "throw", 1);  // misbehaviour that would need the plug-in to run
  const temporary_folder in;
  const auto told = [&](const char* name, size_t offset, std::string_view bytes) {
    const auto file = spoilt(in, name, offset, bytes);
    auto said = why(file);
    REQUIRE(said.starts_with(file.string()));
    return said.substr(file.string().size());
  };
  const std::string again = "; build it again against this version of Troupe";
  CHECK(told("abi.so", offsetof(plugin_descriptor, abi), std::string_view("\x63\0\0\0", 4)) ==
        " was built for plug-in interface 99, this program has " + std::to_string(plugin_abi) + again);
  CHECK(told("version.so", offsetof(plugin_descriptor, troupe), std::string_view("9.8.7\0", 6)) ==
        " was built for Troupe 9.8.7, this program has " + std::string(version) + again);
  CHECK(told("caf.so", offsetof(plugin_descriptor, caf), std::string_view("\x09\0\0\0", 4)) ==
        " was built for CAF 9, this program has 1706" + again);
  CHECK(told("toolchain.so", offsetof(plugin_descriptor, toolchain), std::string_view("tcc\0", 4)) ==
        " was built for another toolchain: tcc, this program has " TROUPE_TOOLCHAIN + again);
  CHECK(told("name.so", offsetof(plugin_descriptor, name), std::string_view("a b\0", 4)) ==
        " has an invalid plug-in name");
  unsetenv("TROUPE_EXAMPLE_PLUGIN");
}

TEST_CASE("a plug-in that throws or reuses a name registers nothing") {
  const temporary_folder in;
  const auto names = batchings().names().size();
  const auto ends = [&](const char* wish, std::string_view end) {
    const auto said = why_if(in, wish);
    CAPTURE(said);
    CHECK(said.ends_with(end));
    CHECK(batchings().names().size() == names);
  };
  ends("throw", "throw.so refuses to start: no licence");
  ends("throw a number", "refuses to start, with an exception of an unknown type");
  ends("take", "refuses to start: there is already a batching policy 'eager'; give it another name");
  ends("twice", "refuses to start: there is already a kind of actor 'listener'; give it another name");
  ends("key", "refuses to start: 'no key' cannot be the key of a parameter");
}

TEST_CASE("a valid plug-in is loaded once and registers its policies and actors") {
  const auto& p = load_plugin(TROUPE_EXAMPLE_PLUGIN);
  CHECK(p.name == "example");
  CHECK(p.version == "2.1");
  REQUIRE(p.parameters.size() == 3);
  CHECK(p.parameters[1].key == "share");
  CHECK(std::get<plugin_parameter::number>(p.parameters[1].kind).fallback == 0.25);
  CHECK(batchings().find("example") != nullptr);
  CHECK(matchmakings().find("example") != nullptr);
  const auto* listener = extensions().find("example/listener");
  REQUIRE(listener != nullptr);
  CHECK(listener->takes.schema.find(R"("name":"messages","type":"integer")") != std::string::npos);
  CHECK(&load_plugin(TROUPE_EXAMPLE_PLUGIN) == &p);

  const temporary_folder in;
  const auto other = in.write("other.so", bytes_of(TROUPE_EXAMPLE_PLUGIN));
  CHECK(why(other) == other.string() + " is called 'example', and so is " + p.library + "; rename one");
}

TEST_CASE("an actor of a loaded plug-in gets messages and commands through its guard") {
  const auto& p = load_plugin(TROUPE_EXAMPLE_PLUGIN);
  cluster_spec cluster;
  cluster.plugins = {{p.name, p.version, p.library, {}}};
  cluster.actors = {{0, "listener", node_id{0}}};
  struct : outbox {
    void send(const address&, const address&, actor_message) override {}
  } out;
  const address self{node_id{0}, incarnation_id{1}, role::extension, 0};
  const auto made = make_extension(cluster, self, out);
  envelope e{self, self, drain{}};
  made->on(e, time_point{});
  const auto done = made->on_command({7, "add", R"({"messages": 3})"}, {});
  CHECK(done.ok);
  CHECK(done.body == R"({"messages":4})");
  CHECK(made->on_command({7, "sub", ""}, {}).body == "there is no command 'sub'; the actor takes: add");
}

TEST_CASE("the search for a descriptor is safe for any bytes") {
  const temporary_folder in;
  auto good = bytes_of(TROUPE_EXAMPLE_PLUGIN);
  const auto magic = good.find("troupe plug-in");
  good.replace(magic, 6, "TROUPE");  // never loaded, regardless of the other damage
  random_stream r(7, "bytes");
  for (int i = 0; i < 300; ++i) {
    auto bad = good;
    for (int k = 0; k < 20; ++k) bad[r.below(k % 2 ? 64 : bad.size())] = static_cast<char>(r.below(256));
    // the section table is at the end
    for (int k = 0; k < 20; ++k) bad[bad.size() - 1 - r.below(2000)] = static_cast<char>(r.below(256));
    CHECK(why(in.write("bad.so", bad)) != "loaded");
  }
}

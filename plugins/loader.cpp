#include "plugins/loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <caf/config.hpp>

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>

#include "plugins/elf_section.hpp"
#include "plugins/plugin.hpp"
#include "policies/registry/batchings.hpp"
#include "policies/registry/matchmakings.hpp"

namespace troupe {
namespace {

std::list<loaded_plugin>& loaded() {
  static std::list<loaded_plugin> all;
  return all;
}

template <size_t N>
std::string text_of(const char (&from)[N]) {
  return {from, strnlen(from, N)};
}

bool is_name(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// Collects the registrations of a plug-in until all of them are valid.
class candidate_plugin final : public plugin_host {
 public:
  explicit candidate_plugin(loaded_plugin info) : info_(std::move(info)) {}

  void integer(std::string_view key, int64_t min, int64_t max, int64_t fallback) override {
    add_parameter(key, plugin_parameter::integer{min, max, fallback});
  }
  void number(std::string_view key, std::string_view unit, double min, double max, double fallback) override {
    add_parameter(key, plugin_parameter::number{std::string(unit), min, max, fallback});
  }
  void text(std::string_view key, std::string_view fallback) override {
    add_parameter(key, plugin_parameter::text{std::string(fallback)});
  }
  void batching(std::string_view name, batching_factory make) override {
    must_be_free(name, batchings().find(name) != nullptr, info_.batchings, "batching policy");
    info_.batchings.emplace_back(name);
    batchings_.push_back(std::move(make));
  }
  void matchmaking(std::string_view name, matchmaking_factory make) override {
    must_be_free(name, matchmakings().find(name) != nullptr, info_.matchmakings, "matchmaking policy");
    info_.matchmakings.emplace_back(name);
    matchmakings_.push_back(std::move(make));
  }
  void actor(std::string_view kind, extension_factory make, extension_protocol takes) override {
    must_be_free(kind, false, info_.actors, "kind of actor");
    info_.actors.emplace_back(kind);
    actors_.push_back({std::move(make), std::move(takes)});
  }

  loaded_plugin accept() {
    for (size_t i = 0; i < batchings_.size(); ++i)
      batchings().add(info_.batchings[i], std::move(batchings_[i]));
    for (size_t i = 0; i < matchmakings_.size(); ++i)
      matchmakings().add(info_.matchmakings[i], std::move(matchmakings_[i]));
    for (size_t i = 0; i < actors_.size(); ++i)
      extensions().add(info_.name + "/" + info_.actors[i], std::move(actors_[i]));
    return std::move(info_);
  }

 private:
  void add_parameter(std::string_view key, decltype(plugin_parameter::kind) kind) {
    for (const auto& p : info_.parameters)
      if (p.key == key) throw std::invalid_argument(fmt::format("it declares the parameter '{}' twice", key));
    if (!is_name(key)) throw std::invalid_argument(fmt::format("'{}' cannot be the key of a parameter", key));
    info_.parameters.push_back({std::string(key), std::move(kind)});
  }
  static void must_be_free(std::string_view name, bool taken, const std::vector<std::string>& own,
                           std::string_view what) {
    if (!is_name(name))
      throw std::invalid_argument(fmt::format("'{}' cannot be the name of a {}", name, what));
    if (taken || std::find(own.begin(), own.end(), name) != own.end())
      throw std::invalid_argument(
          fmt::format("there is already a {} '{}'; give it another name", what, name));
  }

  loaded_plugin info_;
  std::vector<batching_factory> batchings_;
  std::vector<matchmaking_factory> matchmakings_;
  std::vector<extension_kind> actors_;
};

plugin_descriptor descriptor_of(const std::string& library) {
  const auto section = read_elf_section(library, ".troupe_plugin");
  if (!section.error.empty()) throw plugin_error(library + " " + section.error);
  plugin_descriptor d{};
  if (section.bytes.size() >= sizeof d) std::memcpy(&d, section.bytes.data(), sizeof d);
  if (text_of(d.magic) != plugin_descriptor::magic_text)
    throw plugin_error(library + " is not a plug-in of Troupe: its descriptor is damaged");
  return d;
}

/// Throws plugin_error if the versions or toolchains of both sides differ.
void compare(const std::string& library, const plugin_descriptor& theirs) {
  constexpr auto ours = describe_plugin("", "", CAF_VERSION);
  const auto differ = [&](std::string_view what, const std::string& its, const std::string& own) {
    throw plugin_error(
        fmt::format("{} was built for {} {}, this program has {}; build it again against this "
                    "version of Troupe",
                    library, what, its, own));
  };
  if (theirs.abi != ours.abi)
    differ("plug-in interface", std::to_string(theirs.abi), std::to_string(ours.abi));
  if (text_of(theirs.troupe) != text_of(ours.troupe))
    differ("Troupe", text_of(theirs.troupe), text_of(ours.troupe));
  if (text_of(theirs.toolchain) != text_of(ours.toolchain))
    differ("another toolchain:", text_of(theirs.toolchain), text_of(ours.toolchain));
  if (theirs.caf != 0 && theirs.caf != ours.caf)
    differ("CAF", std::to_string(theirs.caf), std::to_string(ours.caf));
}

}  // namespace

const loaded_plugin& load_plugin(const std::filesystem::path& library) {
  std::error_code failed;
  auto full = std::filesystem::weakly_canonical(library, failed);
  const auto path = failed ? library.string() : full.string();
  for (const auto& p : loaded())
    if (p.library == path) return p;

  const auto descriptor = descriptor_of(path);
  compare(path, descriptor);
  loaded_plugin info;
  info.name = text_of(descriptor.name);
  info.version = text_of(descriptor.version);
  info.library = path;
  if (!is_name(info.name)) throw plugin_error(fmt::format("{} has an invalid plug-in name", path));
  for (const auto& p : loaded())
    if (p.name == info.name)
      throw plugin_error(
          fmt::format("{} is called '{}', and so is {}; rename one", path, info.name, p.library));

  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw plugin_error(fmt::format("{} cannot be loaded: {}", path, dlerror()));
  const auto start = reinterpret_cast<void (*)(plugin_host&)>(dlsym(handle, "troupe_register_plugin"));
  if (start == nullptr)
    throw plugin_error(
        fmt::format("{} has no function troupe_register_plugin; write TROUPE_PLUGIN(...) {{ ... }}", path));
  candidate_plugin candidate(std::move(info));
  try {
    start(candidate);
  } catch (const std::exception& e) {
    throw plugin_error(fmt::format("{} refuses to start: {}", path, e.what()));
  } catch (...) {
    throw plugin_error(fmt::format("{} refuses to start, with an exception of an unknown type", path));
  }
  return loaded().emplace_back(candidate.accept());
}

}  // namespace troupe

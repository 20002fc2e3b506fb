// Registry of policy factories by name.
#pragma once
#include <deque>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Factories by name, in order of insertion. Filled before any actor runs (plugins/loader.hpp adds those of
/// plug-ins), read-only afterwards.
template <class Factory>
class registry {
 public:
  registry(std::initializer_list<std::pair<std::string_view, Factory>> known) {
    for (const auto& [name, make] : known) add(name, make);
  }

  /// False if the name is taken.
  bool add(std::string_view name, Factory make) {
    if (find(name) != nullptr) return false;
    names_.push_back(owned_.emplace_back(name));
    factories_.push_back(std::move(make));
    return true;
  }
  /// Null if there is none.
  const Factory* find(std::string_view name) const {
    for (size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) return &factories_[i];
    return nullptr;
  }
  std::span<const std::string_view> names() const { return names_; }

 private:
  std::deque<std::string> owned_;  // never moved: names_ point into it
  std::vector<std::string_view> names_;
  std::deque<Factory> factories_;
};

}  // namespace troupe

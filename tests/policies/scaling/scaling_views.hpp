// Views of scaling models for tests, written in short: node 0 with places of models 0 and 1, and so on.
#pragma once
#include <string>
#include <vector>

#include "policies/scaling/copy_plan.hpp"
#include "policies/scaling/instance_choice.hpp"

namespace troupe {

inline constexpr uint64_t megabyte = 1'000'000;

/// Nodes with room for ten images of ten megabytes each. Engines are numbered in the order of `place`.
struct small_view {
  explicit small_view(uint32_t node_count, std::vector<uint32_t> wanted = {1}, uint32_t copies = 1) {
    view.copies = copies;
    for (uint32_t n = 0; n < node_count; ++n)
      view.nodes.push_back({node_id{n}, 100 * megabyte, 0, false, {}});
    for (uint32_t m = 0; m < wanted.size(); ++m)
      view.models.push_back({weights_id{m}, std::to_string(m), wanted[m], 10 * megabyte});
  }
  scaling_view::place& place(uint32_t node, uint32_t model = 0, instance_stage stage = instance_stage::idle) {
    view.places.push_back(
        {engine_id{static_cast<uint32_t>(view.places.size())}, weights_id{model}, node_id{node}, stage});
    return view.places.back();
  }
  /// A place of the model on each node.
  small_view& places(uint32_t model = 0) {
    for (const auto& n : view.nodes) place(n.id.value, model);
    return *this;
  }
  image_state& image(uint32_t node, uint32_t model = 0, uint32_t ready = 5) {
    view.nodes[node].images.push_back({weights_id{model}, 5, ready, false, {}, 10 * megabyte});
    return view.nodes[node].images.back();
  }
  image_state& filling(uint32_t node, uint32_t from, uint32_t model = 0, uint32_t ready = 1) {
    auto& i = image(node, model, ready);
    i.filling = true;
    i.from = node_id{from};
    return i;
  }
  scaling_view::node& operator[](uint32_t node) { return view.nodes[node]; }

  /// Engines and stages as "3 serving, 4 idle"; then "short of 0" for models without enough places.
  std::string choose() const {
    const auto c = choose_instances(view);
    std::string out;
    const auto add = [&](const std::string& s) { out += (out.empty() ? "" : ", ") + s; };
    for (const auto& o : c.orders) add(std::to_string(o.engine.value) + " " + std::string(to_string(o.to)));
    for (const auto m : c.short_of_places) add("short of " + std::to_string(m.value));
    return out;
  }
  /// Engines as "0 1".
  std::string starting() const {
    std::string out;
    for (const auto e : choose_instances(view).starting)
      out += (out.empty() ? "" : " ") + std::to_string(e.value);
    return out;
  }
  /// Places and drops as "0>2" (2 gets them from 0), "1>1" (1 reads) and "-3"; for models beyond 0 with "m:".
  std::string plan(std::vector<copy_target> targets = {}, const cluster_spec* cluster = nullptr) const {
    cluster_spec plain;
    plain.nodes.resize(view.nodes.size());
    std::string out;
    const auto add = [&](weights_id m, const std::string& s) {
      out += (out.empty() ? "" : ", ") + (m.value == 0 ? "" : std::to_string(m.value) + ":") + s;
    };
    const auto p = plan_copies(view, targets, link_rates(cluster == nullptr ? plain : *cluster));
    for (const auto& c : p.places)
      add(c.model, std::to_string(c.from.value) + ">" + std::to_string(c.node.value));
    for (const auto& d : p.drops) add(d.model, "-" + std::to_string(d.node.value));
    return out;
  }
  scaling_view view;
};

inline copy_target to_node(uint32_t node, uint32_t model = 0) { return {node_id{node}, weights_id{model}}; }

}  // namespace troupe

#include "config/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/fingerprint.hpp"
#include "config/sections.hpp"
#include "config/text_file.hpp"

namespace troupe {

namespace {

/// One slot per device, dense over the nodes in file order.
std::vector<slot_spec> slots_of(const std::vector<node_spec>& nodes) {
  std::vector<slot_spec> slots;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    for (const auto& group : nodes[n].devices) {
      for (uint32_t i = 0; i < group.count; ++i) {
        const bool cuda = group.kind == device_kind::cuda;
        slots.push_back({.node = node_id{n},
                         .kind = group.kind,
                         .memory_bytes = group.memory_bytes,
                         .jitter = group.jitter,
                         .threads = group.threads,
                         .gpu = cuda ? group.gpu + i : 0,
                         .exact = group.exact});
      }
    }
  }
  return slots;
}

}  // namespace

cluster_reading read_cluster(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text.error.empty()) {
    cluster_reading out;
    out.problems = {about_file(file.string(), text.error)};
    return out;
  }
  return read_cluster_text(text.content, file.string(), file.parent_path());
}

cluster_reading read_cluster_text(std::string_view text, const std::string& file,
                                  const std::filesystem::path& directory) {
  reader in{text, file};
  auto& root = in.root();
  cluster_reading out;
  auto& spec = out.spec;
  spec.name = root.name("name");
  auto plugins = read_plugins(root, directory);
  spec.policy = read_policy(root, plugins);
  spec.plugins = std::move(plugins.plugins);
  spec.limits = read_limits(root);
  spec.restart = read_restart(root);
  spec.security = read_security(root, directory);
  spec.data_lane = read_data_lane(root, spec.security);
  spec.tenants = read_tenants(root, directory, spec.security);
  const auto domains = read_domains(root);
  spec.domains = domains.domains;
  const auto nodes = read_nodes(root, spec);
  spec.nodes = nodes.nodes;
  check_domains(domains, spec.nodes);
  spec.placer = read_placer(root, spec.domains);
  spec.autoscale = read_autoscale(root, spec.nodes);
  spec.actors = read_actors(root, spec, plugins.complete);
  spec.links = read_links(root, spec.nodes);
  spec.pace_links = read_link_pacing(root, spec.links);
  defined_names names;
  auto listed = read_models(root, spec, directory, names);
  spec.models = std::move(listed.models);
  spec.shaped_models = std::move(listed.shaped);
  out.model_places = std::move(listed.places);
  auto encoders = read_encoders(root, spec, directory, names);
  spec.encoders = std::move(encoders.encoders);
  std::ranges::move(encoders.models, std::back_inserter(spec.models));
  std::ranges::move(encoders.places, std::back_inserter(out.model_places));
  auto llms = read_llms(root, spec, directory, names);
  check_workers(root, nodes, llms, spec);
  spec.scaling = read_scaling(
      root, llms, std::ranges::any_of(spec.nodes, [](const node_spec& n) { return n.parameter_bytes > 0; }));
  spec.llms = std::move(llms.llms);
  out.llm_places = std::move(llms.places);
  spec.engines = std::move(llms.engines);
  spec.directory = absolute_path(directory);
  auto& models = root.table_or_empty("models");
  if (const auto given = models.text("directory", ""); !given.empty()) {
    spec.model_directory = absolute_path(directory / given);
    models.recorded("directory").value = spec.model_directory;
    models.recorded("directory").meaning =
        "of its host";  // paths of models may differ between the nodes of a cluster
  }
  out.problems = in.finish();
  out.effective = in.effective();
  if (!out.ok()) return out;

  spec.slots = slots_of(spec.nodes);
  fingerprint print;
  print.add(meaning(out.effective));
  spec.hash = print.hex();
  return out;
}

}  // namespace troupe

#include "tools/commands/check_config.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "config/cluster_file.hpp"
#include "config/security.hpp"
#include "messages/common/json_text.hpp"
#include "tools/common/control_certificates.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/node/model_files.hpp"
#include "tools/node/registered_memory_limits.hpp"

namespace troupe {

namespace {

std::string counted(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

nlohmann::ordered_json problems_json(const std::vector<problem>& problems) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& p : problems) {
    out.push_back(
        {{"file", p.where.file}, {"line", p.where.line}, {"column", p.where.column}, {"text", p.text}});
  }
  return out;
}

void print(const nlohmann::ordered_json& document, std::ostream& out) {
  out << json_text(document, 2) << '\n';
}

/// Warnings about the file as a whole have no place.
nlohmann::ordered_json warnings_json(const std::vector<problem>& warnings) {
  auto out = nlohmann::ordered_json::array();
  for (const auto& w : warnings) out.push_back(w.where.line == 0 ? w.text : to_string(w));
  return out;
}

int refuse(const std::string& path, const std::vector<problem>& problems, bool json, std::ostream& out,
           std::ostream& err) {
  if (json) {
    print({{"file", path}, {"ok", false}, {"problems", problems_json(problems)}}, out);
  } else {
    for (const auto& p : problems) err << to_string(p) << '\n';
  }
  return exit_bad_input;
}

}  // namespace

int check_config(const std::string& path, bool json, std::ostream& out, std::ostream& err) {
  auto cluster = read_cluster(path);
  if (cluster.ok())
    for (const auto& wrong : certificate_problems(cluster.spec))
      cluster.problems.push_back(about_file(path, "security.certificates: " + wrong));
  std::vector<problem> warnings;
  if (cluster.ok()) {
    for (auto& w : security_warnings(cluster.spec)) warnings.push_back(about_file(path, std::move(w)));
    const auto memory =
        memory_limit_problem(cluster.spec, nodes_here(cluster.spec), limits_here(cluster.spec));
    if (!memory.empty()) warnings.push_back(about_file(path, memory));
    auto found = check_model_files(cluster);
    cluster.problems = std::move(found.problems);
    warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
  }
  if (!cluster.ok()) return refuse(path, cluster.problems, json, out, err);
  const auto& spec = cluster.spec;
  if (json) {
    print({{"file", path},
           {"ok", true},
           {"problems", nlohmann::json::array()},
           {"warnings", warnings_json(warnings)},
           {"name", spec.name},
           {"nodes", spec.nodes.size()},
           {"models", spec.models.size()},
           {"language_models", spec.llms.size()},
           {"slots", spec.slots.size()},
           {"hash", spec.hash}},
          out);
  } else {
    for (const auto& w : warnings) err << to_string(w.where) << ": warning: " << w.text << '\n';
    out << fmt::format("{}: ok: {}, {}, {}{}, hash {}\n", path, counted(spec.nodes.size(), "node"),
                       counted(spec.models.size(), "model"),
                       spec.llms.empty() ? "" : counted(spec.llms.size(), "language model") + ", ",
                       counted(spec.slots.size(), "slot"), spec.hash);
  }
  return exit_done;
}

int dump_config(const std::string& path, bool json, std::ostream& out, std::ostream& err) {
  const auto cluster = read_cluster(path);
  if (!cluster.ok()) return refuse(path, cluster.problems, json, out, err);
  out << (json ? to_json(cluster.effective) : to_toml(cluster.effective));
  return exit_done;
}

}  // namespace troupe

#include "tools/commands/experiment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "config/text_file.hpp"
#include "gpu/common/is_missing.hpp"
#include "messages/common/json_text.hpp"
#include "messages/common/near.hpp"
#include "tools/commands/experiment_report.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"
#include "tools/lab/experiment_file.hpp"
#include "tools/lab/experiment_runner.hpp"
#include "tools/lab/parallel.hpp"
#include "tools/lab/plot.hpp"
#include "tools/lab/results_file.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
fs::path folder_of(const experiment_options& options) {
  if (!options.folder.empty()) return options.folder;
  const fs::path here = "examples/experiments";
  std::error_code ignored;
  if (fs::is_directory(here, ignored)) return here;
  const auto installed = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share" /
                         "troupe" / "examples" / "experiments";
  return fs::is_directory(installed, ignored) ? installed : here;
}

/// Whether the file has [experiment]; others are scenarios, which experiments refer to.
bool is_experiment(const fs::path& file) {
  const auto text = read_text_file(file, pipes::refused);
  return text.content.starts_with("[experiment]") || text.content.find("\n[experiment]") != std::string::npos;
}

/// Natural order: figure2 before figure10.
bool name_before(const fs::path& a, const fs::path& b) {
  const auto key = [](const std::string& name) {
    std::string out, digits;
    for (const char c : name + ' ') {
      if (c >= '0' && c <= '9') {
        digits += c;
        continue;
      }
      if (!digits.empty()) out += std::string(8 - std::min<size_t>(8, digits.size()), '0') + digits;
      digits.clear();
      out += c;
    }
    return out;
  };
  return key(a.stem().string()) < key(b.stem().string());
}

std::vector<fs::path> experiment_files(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".toml" && is_experiment(entry.path())) out.push_back(entry.path());
  std::sort(out.begin(), out.end(), name_before);
  return out;
}

/// The experiments chosen by the options. Prints problems and returns none.
std::optional<std::vector<lab::experiment>> chosen_experiments(const experiment_options& options) {
  const auto folder = folder_of(options);
  const auto known = experiment_files(folder);
  if (known.empty() && (options.all || options.names.empty())) {
    report("troupe experiment: no experiments in {}; name their folder with --folder", folder.string());
    return {};
  }
  std::vector<std::string> stems;
  for (const auto& f : known) stems.push_back(f.stem().string());
  std::vector<fs::path> files;
  bool right = true;
  if (options.all) files = known;
  for (const auto& name : options.names) {
    const auto found = std::find(stems.begin(), stems.end(), name);
    if (found != stems.end()) {
      files.push_back(known[static_cast<size_t>(found - stems.begin())]);
    } else if (name.ends_with(".toml")) {
      files.emplace_back(name);
    } else {
      const std::vector<std::string_view> views(stems.begin(), stems.end());
      report("troupe experiment: there is no experiment '{}' in {}{}", name, folder.string(),
             hint(name, views));
      right = false;
    }
  }
  std::vector<lab::experiment> out;
  for (const auto& f : files) {
    auto reading = lab::read_experiment(f);
    for (const auto& p : reading.problems) report("{}", to_string(p));
    right = right && reading.ok();
    out.push_back(std::move(reading.spec));
  }
  if (!right) return {};
  if (out.empty()) {
    report("troupe experiment: name an experiment, or give --all; troupe experiment list shows them");
    return {};
  }
  return out;
}

lab::results run_one(const lab::experiment& e, const experiment_options& options) {
  lab::run_options how;
  how.quick = options.quick;
  how.full = options.full;
  how.run = lab::engine_of(options.engine == "actors" ? 1 : 0);
  how.threads = options.jobs == 0 ? lab::available_cores() : options.jobs;
  how.requests = options.requests;
  how.seeds = options.seeds;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  if (terminal)
    how.progress = [&](size_t n, size_t all) { fmt::print(stderr, "\r{}: {} of {} runs ", e.name, n, all); };
  const auto begin = std::chrono::steady_clock::now();
  auto out = lab::run_experiment(e, how);
  out.seconds = to_seconds(std::chrono::steady_clock::now() - begin);
  if (terminal) fmt::print(stderr, "\r{:60}\r", "");
  return out;
}

}  // namespace

int list_experiments(const experiment_options& options) {
  auto every = options;
  every.all = true;
  const auto experiments = chosen_experiments(every);
  if (!experiments) return exit_bad_input;
  if (options.json) {
    nlohmann::ordered_json document;
    auto& list = document["experiments"] = nlohmann::ordered_json::array();
    for (const auto& e : *experiments)
      list.push_back({{"name", e.name},
                      {"title", e.title},
                      {"reproduces", e.reproduces},
                      {"measure", lab::measure_names[static_cast<size_t>(e.what)]},
                      {"policies", e.policies},
                      {"claims", e.claims.size()}});
    print_document(json_text(document, 2));
  } else {
    for (const auto& e : *experiments) fmt::print("{:<12} {}\n", e.name, e.title);
  }
  return exit_done;
}

int run_experiments(const experiment_options& options) {
  const auto experiments = chosen_experiments(options);
  if (!experiments) return exit_bad_input;
  nlohmann::ordered_json document;
  auto& list = document["experiments"] = nlohmann::ordered_json::array();
  bool hold = true, written = true;
  for (const auto& e : *experiments) {
    const auto r = run_one(e, options);
    hold = hold && r.all_claims_hold();
    lab::write_results(r, options.output);
    if (!options.no_plot) {
      if (const auto error = lab::draw(r, options.output); !error.empty()) {
        report("troupe experiment: {}", error);
        written = false;
      }
    }
    if (options.json) {
      auto one = nlohmann::ordered_json::parse(lab::to_json(r));
      for (auto& p : one["points"]) p.erase("tables");
      one["holds"] = r.all_claims_hold();
      one["folder"] = options.output;
      list.push_back(std::move(one));
    } else {
      std::cout << experiment_report(r) << std::flush;
    }
  }
  if (options.json) print_document(json_text(document, 2));
  return hold && written ? exit_done : exit_failed;
}

int plot_experiments(const experiment_options& options) {
  const auto experiments = chosen_experiments(options);
  if (!experiments) return exit_bad_input;
  for (const auto& e : *experiments) {
    const auto file = fs::path{options.output} / (e.name + ".json");
    const auto text = read_text_file(file, pipes::refused);
    if (!text.error.empty()) {
      report("{}: {}; run it first: troupe experiment run {}", file.string(), text.error, e.name);
      return is_missing(file) ? exit_failed : exit_bad_input;
    }
    lab::results r;
    try {
      r = lab::results_of_json(text.content, e);
    } catch (const std::runtime_error& error) {
      report("{}: {}", file.string(), error.what());
      return exit_bad_input;
    }
    if (const auto error = lab::draw(r, options.output); !error.empty()) {
      report("troupe experiment: {}", error);
      return exit_failed;
    }
    if (!options.json)
      fmt::print("{}\n{}\n", (fs::path{options.output} / (e.name + ".png")).string(),
                 (fs::path{options.output} / (e.name + ".svg")).string());
  }
  return exit_done;
}

}  // namespace troupe

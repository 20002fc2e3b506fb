#include "tools/commands/command_line.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <system_error>

#include "config/cluster_file.hpp"
#include "tools/common/exit_code.hpp"
#include "tools/common/standard_streams.hpp"

namespace troupe {
namespace {

/// Whether the whole text is a number.
template <class T>
bool parse(const std::string& text, T& out) {
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && rest == end;
}

}  // namespace

CLI::Validator finite_in(double min, double max) {
  const auto range = fmt::format("{}..{}", min, max);
  const auto check = [=](const std::string& text) {
    double x = 0;
    if (parse(text, x) && std::isfinite(x) && x >= min && x <= max) return std::string{};
    return fmt::format("must be a number in {}, not {}", range, text);
  };
  return {check, "in " + range};
}

CLI::Validator whole_in(uint64_t min, uint64_t max) {
  const auto range = fmt::format("{}..{}", min, max);
  const auto check = [=](const std::string& text) {
    uint64_t x = 0;
    if (parse(text, x) && x >= min && x <= max) return std::string{};
    return fmt::format("must be a whole number in {}, not {}", range, text);
  };
  return {check, "in " + range};
}

CLI::App* add_subcommand(CLI::App& to, const char* name, const char* what, const char* example) {
  auto* sub = to.add_subcommand(name, what);
  sub->footer(std::string("Example:\n  ") + example);
  return sub;
}

void add_device(CLI::App& to, device_choice& where, CLI::Option* file) {
  const auto needs_file = [file](CLI::Option* o) {
    if (file != nullptr) o->needs(file);
    return o;
  };
  needs_file(to.add_option("--device", where.device, "Device: cpu, or cuda in builds with CUDA"))
      ->capture_default_str();
  needs_file(to.add_option("--gpu", where.gpu, "With --device cuda: number of the GPU, from 0"))
      ->check(whole_in(0, 4095));
  needs_file(to.add_flag("--exact", where.exact, "With --device cuda: exact f32 products instead of TF32"));
  needs_file(to.add_option("--engine", where.engine,
                           "With --device cpu: native, openvino, or auto: native if it runs the model"))
      ->capture_default_str();
  needs_file(to.add_flag("--bf16", where.bf16, "With --engine openvino: compute in bf16"));
  needs_file(
      to.add_option("--shape", where.shapes,
                    "Whole shape of an input, as x=1x3x320x320: the model runs one request at a time"));
  needs_file(to.add_option("--constant", where.constants, "An input that is fixed, as sr=16000"));
}

int with_cluster(const std::string& file, const std::function<int(const cluster_spec&)>& use) {
  const auto reading = read_cluster(file);
  for (const auto& p : reading.problems) report("{}", to_string(p));
  return reading.ok() ? use(reading.spec) : exit_bad_input;
}

}  // namespace troupe

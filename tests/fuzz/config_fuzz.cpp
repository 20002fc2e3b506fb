// Reading any text as a cluster file gives a cluster or problems; an accepted file has the same meaning after
// a dump. The rest of the input, after a NUL, is read as a workload of an example cluster, and all of it as
// the JSON of a model.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "config/cluster_file.hpp"
#include "config/workload_file.hpp"

namespace {

constexpr std::string_view example = R"(name = "x"
[[node]]
name = "a"
roles = ["gateway", "scheduler", "worker"]
control_port = 1
http_port = 2
[[node.device]]
kind = "emulated"
[[node]]
name = "b"
roles = ["gateway"]
control_port = 3
http_port = 4
[[model]]
name = "m"
slo_ms = 20
profile = { alpha_ms = 1, beta_ms = 5 }
)";

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troupe;
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const auto cut = input.find('\0');

  const auto cluster = read_cluster_text(input.substr(0, cut), "fuzz.toml", "/nowhere");
  if (cluster.ok()) {
    const auto again = read_cluster_text(to_toml(cluster.effective), "dump.toml", "/elsewhere");
    require(again.ok() && again.spec.hash == cluster.spec.hash);
  }
  static const auto known = read_cluster_text(example, "example.toml", "/nowhere");
  require(known.ok());
  try {
    read_model_text(model_text_of_json(input, "m"), "fuzz.json", known.spec, "/nowhere", "/nowhere");
  } catch (const std::runtime_error&) {
  }
  if (cut != std::string_view::npos) {
    const auto workload = read_workload_text(input.substr(cut + 1), "fuzz.toml", known.spec);
    require(!workload.ok() || workload.spec.models.size() == known.spec.models.size());
  }
  return 0;
}

#include "gpu/device/openvino_component.hpp"

#include "gpu/openvino/graph.hpp"
#include "gpu/openvino/model.hpp"
#include "messages/common/version.hpp"

namespace {

using namespace troupe;

model_signature signature_of(const model_source& source, const std::string& content) {
  return vino::read_graph(source, content).signature;
}

std::unique_ptr<batch_model> open(const model_source& source, const std::string& content, int threads) {
  return std::make_unique<vino::model>(source, content, threads);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const troupe::openvino_component* troupe_openvino() {
  static constexpr openvino_component component{troupe::version, __VERSION__, signature_of, open};
  return &component;
}

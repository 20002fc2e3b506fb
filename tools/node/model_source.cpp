#include "tools/node/model_source.hpp"

#include "transport/image/image_tensor.hpp"

namespace troupe {

model_source source_of(const model_spec& m) {
  model_source s;
  s.name = m.name;
  s.path = m.path;
  s.latency = m.latency;
  s.max_batch = m.max_batch;
  s.engine = m.engine;
  s.decided_engine = m.decided_engine;
  s.bf16 = m.bf16;
  s.batched = m.batched;
  s.shapes = m.shapes;
  s.any_shape = m.any_shape;
  s.constants = m.constants;
  return s;
}

std::string images_problem(const model_spec& m, const model_signature& signature) {
  for (const auto& x : m.images)
    if (const auto why = image_input_problem(x, signature); !why.empty()) return m.path + ": " + why;
  return {};
}

}  // namespace troupe

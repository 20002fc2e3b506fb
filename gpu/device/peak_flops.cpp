#include "gpu/device/peak_flops.hpp"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

#include "gpu/onnx/memory_layout.hpp"

namespace troupe {

double measure_peak_flops(const clock& c, duration budget) {
  constexpr int64_t n = 512;
  const auto& engine = onnx::cpu_engine();
  const auto plain = onnx::plain_layout({n, n});
  const dnnl::matmul::primitive_desc pd({plain, onnx::any_layout({n, n}), plain}, engine);
  dnnl::memory left(plain, engine), right(pd.weights_desc(), engine), out(plain, engine);
  for (auto* m : {&left, &right}) {
    auto* values = static_cast<float*>(m->get_data_handle());
    std::fill_n(values, m->get_desc().get_size() / sizeof(float), 0.5F);
  }
  const dnnl::matmul product(pd);
  dnnl::stream stream(engine);
  duration best = duration::max();
  const auto begin = c.now();
  do {
    const auto before = c.now();
    product.execute(stream, {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, out}});
    stream.wait();
    best = std::min(best, c.now() - before);
  } while (c.now() - begin < budget);
  return 2.0 * n * n * n / to_seconds(std::max(best, duration{1}));
}

}  // namespace troupe

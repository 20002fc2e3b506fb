#include "tools/node/node_images.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

using namespace troupe;

namespace {

constexpr node_id its_node{0};
constexpr llm_id scaling_llm{0};

/// A language model that scales and has a place on the node.
cluster_spec one_scaling_model(device_kind device, llm_type type) {
  cluster_spec c;
  c.nodes.resize(1);
  auto& m = c.llms.emplace_back();
  m.name = "m";
  m.path = TROUPE_FIXTURES "/llama-tasks/base";
  m.device = device;
  m.type = type;
  m.scales = true;
  c.engines.push_back({scaling_llm, its_node});
  return c;
}

}  // namespace

TEST_CASE("node_images: a model on a GPU has images for GPUs, which its node fills from the checkpoint") {
  for (const auto device : {device_kind::cpu, device_kind::cuda}) {
    const auto cluster = one_scaling_model(device, llm_type::bf16);
    node_images images(cluster, its_node);
    CHECK(images.keeps(scaling_llm));
    const auto set = images.create(weights_of(scaling_llm), 0);
    CHECK(set->bytes() == images.bytes(weights_of(scaling_llm)));
    CHECK(images.capacity() >= set->bytes());
    CHECK((set->format().layout == llm::image_layout::row_major) == (device == device_kind::cuda));
    CHECK(images.find(weights_of(scaling_llm)) == set);
    images.read(weights_of(scaling_llm), set);
    while (!set->complete() && !set->failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(set->complete());
  }
}

TEST_CASE("node_images: engines that are emulated, or share a model among GPUs, load it themselves") {
  CHECK_FALSE(
      node_images(one_scaling_model(device_kind::emulated, llm_type::f32), its_node).keeps(scaling_llm));
  auto shared = one_scaling_model(device_kind::cuda, llm_type::bf16);
  shared.llms[0].tensor_parallel = 2;
  node_images images(shared, its_node);
  CHECK_FALSE(images.keeps(scaling_llm));
  CHECK(images.bytes(weights_of(scaling_llm)) == 0);
  CHECK(images.capacity() == 0);
}

#include "gpu/llm/cuda/resident_adapters.hpp"

#include <doctest/doctest.h>

#include "gpu/checkpoint/parameters.hpp"
#include "tests/gpu/checkpoint/files.hpp"
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"

using namespace troupe;
using namespace troupe::cuda;
using llm::adapter_id;

TEST_CASE("resident adapters: a slot holds addresses of the adapter's matrices, and is used again") {
  const std::filesystem::path folder = llm::fixtures / "random-llms" / "llama2-mha";
  const llm::model_config config = llm::checkpoint(folder).config();
  emulated_machine m;
  m.replay(1, [] {});
  resident_adapters<emulated_machine, element::bf16> adapters(m, config.layers, 2);
  CHECK(adapters.slots().max_ranks == 0);
  const auto read = llm::read_adapter(folder / "adapter", config);
  std::vector<std::shared_ptr<const llm::packed_adapter>> packed;
  for (int i = 0; i < 3; ++i) packed.push_back(adapters.pack(read, config));
  CHECK(packed[0]->bytes() > 0);

  adapters.load(adapter_id{7}, packed[0]);
  CHECK(adapters.slots().max_ranks > 0);
  CHECK(m.graphs() == 0);  // graphs have the old limit of ranks
  m.replay(1, [] {});
  adapters.load(adapter_id{8}, packed[1]);
  CHECK(m.graphs() == 1);
  CHECK(adapters.slot_of(adapter_id{7}) == 0);
  CHECK(adapters.slot_of(adapter_id{8}) == 1);
  CHECK(adapters.slot_of(adapter_id{9}) == no_adapter);

  const size_t slot = size_t{config.layers} * adapter_slots::projections;
  m.finish();
  const std::vector<lora_matrices> first(adapters.slots().matrices, adapters.slots().matrices + 2 * slot);
  adapters.unload(adapter_id{7});
  CHECK(adapters.slot_of(adapter_id{7}) == no_adapter);
  CHECK(packed[0].use_count() == 1);
  adapters.load(adapter_id{9}, packed[2]);
  CHECK(adapters.slot_of(adapter_id{9}) == 0);
  m.finish();
  const lora_matrices* now = adapters.slots().matrices;
  for (size_t i = 0; i < slot; ++i) {
    CHECK(now[i].ranks == first[i].ranks);
    if (now[i].ranks > 0) CHECK(now[i].a != first[i].a);
    CHECK(now[slot + i].a == first[slot + i].a);
  }
}

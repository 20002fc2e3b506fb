#include "gpu/llm/adapter_loader.hpp"

#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>

#include "gpu/llm/adapter_weights.hpp"
#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

/// Outcomes in order of arrival.
class inbox {
 public:
  std::function<void(adapter_loader::outcome)> callback() {
    return [this](adapter_loader::outcome o) {
      const std::scoped_lock lock(mutex_);
      all_.push_back(std::move(o));
      came_.notify_one();
    };
  }
  std::vector<adapter_loader::outcome> wait(size_t count) {
    std::unique_lock lock(mutex_);
    REQUIRE(came_.wait_for(lock, std::chrono::seconds(60), [&] { return all_.size() >= count; }));
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<adapter_loader::outcome> all_;
};

const model_config model = read_model_config(fixtures / "llama-tasks/base");
adapter_packer as(element type) {
  return [type](const adapter& read) {
    return std::make_shared<const adapter_weights>(read, model.layers, type);
  };
}
uint32_t rank_of(const adapter_loader::outcome& o) {
  return static_cast<const adapter_weights&>(*o.packed).max_rank();
}
std::string folder_of(const std::string& name) { return (fixtures / "llama-tasks/adapters" / name).string(); }

}  // namespace

TEST_CASE("orders wait for the model, and run in their order of arrival") {
  inbox in;
  adapter_loader loader(1 << 30, in.callback());
  loader.add({adapter_id{3}, 1, folder_of("sort")});
  loader.add({adapter_id{4}, 2, folder_of("nowhere")});
  loader.add({adapter_id{5}, 3, folder_of("sort")});
  loader.add({adapter_id{6}, 4, folder_of("upper")});
  loader.cancel(4);
  loader.add({adapter_id{7}, 5, folder_of("reverse")});
  loader.open(model, as(element::bf16));
  const auto all = in.wait(4);
  REQUIRE(all.size() == 4);
  CHECK(all[0].id == adapter_id{3});
  CHECK(all[0].order == 1);
  CHECK(all[0].from_disk);
  REQUIRE(all[0].packed);
  CHECK(rank_of(all[0]) == 16);
  CHECK(all[1].id == adapter_id{4});
  CHECK_FALSE(all[1].packed);
  CHECK(all[1].problem == folder_of("nowhere") + "/adapter_config.json: No such file or directory");
  CHECK(all[2].order == 3);
  CHECK_FALSE(all[2].from_disk);
  CHECK(all[2].packed->bytes() == all[0].packed->bytes());
  CHECK(all[3].order == 5);
  CHECK(rank_of(all[3]) == 8);
}

TEST_CASE("reading and packing of adapters alternate") {
  inbox in;
  adapter_loader loader(1 << 30, in.callback());
  for (uint64_t n = 1; n <= 3; ++n) loader.add({adapter_id{1}, n, folder_of("sort"), true});
  for (uint64_t n = 4; n <= 5; ++n) loader.add({adapter_id{1}, n, folder_of("sort")});
  loader.open(model, as(element::f32));
  std::vector<uint64_t> order;
  for (const auto& o : in.wait(5)) {
    order.push_back(o.order);
    CHECK(o.only_read == (o.order <= 3));
    CHECK((o.packed == nullptr) == o.only_read);
    CHECK(o.problem.empty());
  }
  CHECK(order == std::vector<uint64_t>{4, 1, 5, 2, 3});
}

TEST_CASE("a discarded adapter is freed") {
  inbox in;
  adapter_loader loader(0, in.callback());
  loader.open(model, as(element::f32));
  auto weights = std::make_shared<const adapter_weights>(read_adapter(folder_of("sort"), model), model.layers,
                                                         element::f32);
  const std::weak_ptr<const adapter_weights> seen = weights;
  loader.discard(std::move(weights));
  loader.add({adapter_id{1}, 1, folder_of("sort")});
  in.wait(1);
  CHECK(seen.expired());
}

TEST_CASE("a loader with waiting orders can be stopped and destroyed") {
  inbox in;
  {
    adapter_loader never_opened(0, in.callback());
    never_opened.add({adapter_id{1}, 1, folder_of("sort")});
  }
  for (int i = 0; i < 20; ++i) {
    adapter_loader loader(0, in.callback());
    loader.open(model, as(element::f32));
    for (uint64_t n = 1; n < 50; ++n) loader.add({adapter_id{1}, n, folder_of("sort")});
    if (i % 2 == 0) loader.stop();
  }
  CHECK(in.wait(0).size() < 20 * 49);
}

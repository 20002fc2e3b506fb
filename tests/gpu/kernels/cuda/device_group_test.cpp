// All-reduce, broadcast and gather by NCCL, on as many GPUs as there are, up to two.
#include "gpu/kernels/cuda/device_group.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gpu/common/device_lost.hpp"
#include "gpu/kernels/cuda/cuda_machine.cuh"

using namespace troupe;
using namespace troupe::cuda;

namespace {

using machine_of_any_gpu = cuda_machine<1>;

constexpr size_t numbers = 1000;

/// The number of GPUs for a group, up to two; prints a message if there are fewer.
uint32_t gpus() {
  int count = 0;
  if (device_group::available) check(cudaGetDeviceCount(&count), "the GPUs");
  if (count < 2) MESSAGE("in parts not run: it takes two GPUs and NCCL; here: ", count);
  return static_cast<uint32_t>(std::min(count, 2));
}

/// Runs it on a thread for each rank, bound to its GPU; rethrows the first exception.
void on_ranks(uint32_t ranks, const std::function<void(machine_of_any_gpu&)>& work) {
  std::vector<int> devices(ranks);
  std::iota(devices.begin(), devices.end(), 0);
  const auto group = std::make_shared<device_group>(devices);
  std::vector<std::exception_ptr> errors(ranks);
  {
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          check(cudaSetDevice(static_cast<int>(rank)), "the GPU");
          machine_of_any_gpu machine(group, rank);
          work(machine);
        } catch (...) {
          errors[rank] = std::current_exception();
          group->abort();
        }
      });
  }
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
}

size_t bytes_of(element e) { return e == element::f32 ? 4 : 2; }

/// The number of rank r at i: small integers, so that sums are exact in every type.
float number(uint32_t rank, size_t i) { return static_cast<float>(i % 50 + rank * 3); }

}  // namespace

TEST_CASE("all_reduce sums the numbers of all ranks, also in a replayed graph") {
  const uint32_t ranks = gpus();
  if (ranks == 0) return;
  CAPTURE(ranks);
  for (const element type : {element::f16, element::bf16, element::f32}) {
    CAPTURE(static_cast<int>(type));
    std::vector<size_t> wrong(ranks);
    on_ranks(ranks, [&](machine_of_any_gpu& machine) {
      const size_t bytes = numbers * bytes_of(type);
      pinned_memory mine(bytes), sum(bytes);
      device_memory there(bytes);
      for (int turn = 0; turn < 3; ++turn) {  // the first one captures
        for (size_t i = 0; i < numbers; ++i)
          set_element(mine.data(), type, i, number(machine.rank(), i + static_cast<size_t>(turn)));
        machine.upload(there.data(), mine.data(), bytes);
        machine.replay(1, [&] { machine.all_reduce(there.data(), numbers, type); });
        machine.download(sum.data(), there.data(), bytes);
        machine.finish();
        for (size_t i = 0; i < numbers; ++i) {
          float expected = 0;
          for (uint32_t r = 0; r < ranks; ++r) expected += number(r, i + static_cast<size_t>(turn));
          wrong[machine.rank()] += element_at(sum.data(), type, i) != expected;
        }
      }
    });
    for (const size_t w : wrong) CHECK(w == 0);
  }
}

TEST_CASE("broadcast copies the bytes of rank 0 to all ranks, also in a replayed graph") {
  const uint32_t ranks = gpus();
  if (ranks == 0) return;
  CAPTURE(ranks);
  std::vector<size_t> wrong(ranks);
  on_ranks(ranks, [&](machine_of_any_gpu& machine) {
    pinned_memory mine(numbers), got(numbers);
    device_memory there(numbers);
    for (size_t turn = 0; turn < 3; ++turn) {
      for (size_t i = 0; i < numbers; ++i) mine.data()[i] = std::byte((i + turn) * (machine.rank() + 1));
      machine.upload(there.data(), mine.data(), numbers);
      machine.replay(1, [&] { machine.broadcast(there.data(), numbers); });
      machine.download(got.data(), there.data(), numbers);
      machine.finish();
      for (size_t i = 0; i < numbers; ++i) wrong[machine.rank()] += got.data()[i] != std::byte(i + turn);
    }
  });
  for (const size_t w : wrong) CHECK(w == 0);
}

TEST_CASE("gather copies the bytes of the other ranks to rank 0, also in a replayed graph") {
  const uint32_t ranks = gpus();
  if (ranks == 0) return;
  CAPTURE(ranks);
  size_t wrong = 0;
  on_ranks(ranks, [&](machine_of_any_gpu& machine) {
    const size_t bytes = numbers * ranks;  // more bytes than the first one gets
    pinned_memory mine(bytes), got(bytes);
    device_memory there(bytes);
    const auto byte_of = [](size_t rank, size_t i, size_t turn) {
      return std::byte((i + turn) * (rank + 1));
    };
    for (size_t turn = 0; turn < 3; ++turn) {
      for (size_t i = 0; i < bytes; ++i) mine.data()[i] = byte_of(machine.rank(), i, turn);
      machine.upload(there.data(), mine.data(), bytes);
      machine.replay(1, [&] { machine.gather(there.data(), numbers); });
      machine.download(got.data(), there.data(), bytes);
      machine.finish();
      for (size_t i = 0; i < bytes && machine.rank() == 0; ++i) {
        const size_t from = i / numbers + 1;
        wrong += got.data()[i] != (from < ranks ? byte_of(from, i % numbers, turn) : mine.data()[i]);
      }
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a failed rank ends a pending all_reduce or gather of the other rank") {
  if (gpus() < 2) return;
  const auto fails = [](const std::function<void(machine_of_any_gpu&, void*)>& together) {
    on_ranks(2, [&](machine_of_any_gpu& machine) {
      if (machine.rank() == 1) throw std::runtime_error("rank 1 has failed");
      device_memory there(numbers * 4);
      try {  // it must end, with any result
        together(machine, there.data());
        machine.finish();
      } catch (const device_lost&) {
      } catch (const cuda_error&) {
      }
    });
  };
  CHECK_THROWS_WITH(fails([](auto& m, void* there) { m.all_reduce(there, numbers, element::f32); }),
                    "rank 1 has failed");
  CHECK_THROWS_WITH(fails([](auto& m, void* there) { m.gather(there, numbers); }), "rank 1 has failed");
}

// NCCL calls of an aborted device_group, against a stub that counts them (recording_nccl/).
#include <doctest/doctest.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "gpu/common/device_lost.hpp"
#include "gpu/kernels/cuda/device_group.hpp"

using namespace troupe;
using namespace troupe::cuda;
using namespace std::chrono_literals;

/// It frees itself when no graph has captured it.
struct ncclComm {
  std::atomic<int> calls = 0, inside = 0, aborted = 0, destroyed = 0, freed_in_use = 0;
  std::atomic<bool> hangs = false, captured = false;
};

namespace {

constexpr uint32_t ranks = 2;
std::array<ncclComm, ranks>* known_comms = nullptr;

/// State of one test.
struct nccl_fixture {
  nccl_fixture() { known_comms = &comms; }
  std::array<ncclComm, ranks> comms;
};

ncclResult_t called(ncclComm_t c) {
  ++c->calls, ++c->inside;
  while (c->hangs && c->aborted == 0) std::this_thread::yield();
  if (!c->hangs) std::this_thread::sleep_for(20ms);
  --c->inside;
  return c->aborted == 0 ? ncclSuccess : ncclInternalError;
}

template <class Condition>
bool soon(Condition met) {
  for (int i = 0; i < 1000 && !met(); ++i) std::this_thread::sleep_for(10ms);
  return met();
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t) { return "it was aborted"; }
ncclResult_t ncclCommInitAll(ncclComm_t* made, int count, const int*) {
  for (int i = 0; i < count; ++i) made[i] = &(*known_comms)[static_cast<size_t>(i)];
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t c) {
  ++c->destroyed;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t c) {
  if (!c->hangs) c->freed_in_use += c->inside;
  ++c->aborted;
  while (c->captured) std::this_thread::yield();
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }
ncclResult_t ncclAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t c,
                           cudaStream_t) {
  return called(c);
}
ncclResult_t ncclBroadcast(const void*, void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t) {
  return called(c);
}
ncclResult_t ncclSend(const void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t) {
  return called(c);
}
ncclResult_t ncclRecv(void*, size_t, ncclDataType_t, int, ncclComm_t c, cudaStream_t) { return called(c); }

TEST_CASE("device group: a group without failure is destroyed, not aborted") {
  nccl_fixture b;
  { device_group({0, 1}).all_reduce(0, nullptr, 0, element::f32, nullptr); }
  for (const auto& c : b.comms) CHECK((c.destroyed == 1 && c.aborted == 0));
}

TEST_CASE("device group: an abort runs once, and later calls throw without reaching NCCL") {
  nccl_fixture b;
  {
    device_group group({0, 1});
    group.abort();
    group.abort();
    CHECK_THROWS_AS(group.all_reduce(0, nullptr, 0, element::f32, nullptr), device_lost);
    CHECK_THROWS_AS(group.broadcast(1, nullptr, 0, nullptr), device_lost);
    CHECK_THROWS_AS(group.gather(1, nullptr, 0, nullptr), device_lost);
  }
  for (const auto& c : b.comms) CHECK((c.destroyed == 0 && c.aborted == 1 && c.calls == 0));
}

TEST_CASE("device group: an abort ends the waits at the barrier") {
  nccl_fixture b;
  device_group group({0, 1});
  std::jthread other([&] { CHECK_THROWS_AS(group.barrier(), device_lost); });
  std::this_thread::sleep_for(5ms);
  group.abort();
  CHECK_THROWS_AS(group.barrier(), device_lost);
}

TEST_CASE("device group: a call returns before its resources are aborted") {
  nccl_fixture b;
  device_group group({0, 1});
  std::jthread other([&] { CHECK_NOTHROW(group.all_reduce(1, nullptr, 0, element::f32, nullptr)); });
  CHECK(soon([&] { return b.comms[1].inside == 1; }));
  group.abort();
  CHECK(soon([&] { return b.comms[1].aborted == 1; }));
  CHECK(b.comms[1].freed_in_use == 0);
}

TEST_CASE("device group: an abort ends a hanging call") {
  nccl_fixture b;
  b.comms[1].hangs = true;
  device_group group({0, 1});
  std::jthread other(
      [&] { CHECK_THROWS_AS(group.all_reduce(1, nullptr, 0, element::f32, nullptr), device_lost); });
  CHECK(soon([&] { return b.comms[1].inside == 1; }));
  group.abort();
  CHECK(soon([&] { return b.comms[1].inside == 0; }));
}

TEST_CASE(
    "device group: abort() aborts communicators that are captured in graphs, without waiting for these") {
  nccl_fixture b;
  for (auto& c : b.comms) c.captured = true;
  device_group group({0, 1});
  group.abort();
  CHECK(soon([&] { return b.comms[0].aborted == 1 && b.comms[1].aborted == 1; }));
  for (auto& c : b.comms) c.captured = false;  // before the group is destroyed
}

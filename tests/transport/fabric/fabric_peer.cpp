// The other process of the fabric tests: obeys lines on standard input, answers each with one line.
//   fabric_peer NODE INCARNATION [trusting]
//   address                     -> its address in hex
//   connect NODE INCARNATION HEX       -> ok
//   renew                       -> its address in hex, of a new incarnation
//   burst NODE COUNT            -> ok; sends the mixed frames 0..COUNT-1
//   received                    -> how many frames it got
//   ordered                     -> 1 if their first words never went down
//   last                        -> the first word of the newest
//   take SIZE BYTE              -> offset size generation of a slot filled with BYTE
//   pages                       -> the offset of 16 MiB of zeros
//   lease NODE PAGES PAGE_BYTES MICROSECONDS ROUNDS
//                               -> ok; offers leased pages, ends the lease within so many microseconds and
//                                  writes other bytes; the next round begins when a frame with its number has
//                                  come
//   cpu                         -> microseconds of CPU time used so far
// A frame with an `offer` makes it pull the region, check the bytes, and answer with a `finding`. "trusting"
// is the planted bug: it accepts pulled bytes without verification.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include "tests/transport/fabric/fabric_offer.hpp"
#include "tests/transport/fabric/test_fabric.hpp"
#include "transport/memory/pull_check.hpp"
#include "transport/memory/slot_pool.hpp"

using namespace troupe;
using namespace troupe::testing;

namespace {

class scripted_peer final : public fabric_events {
 public:
  scripted_peer(fabric& carrier, bool trusting) : fabric_(carrier), trusting_(trusting) {}

  void on_frame(std::span<const std::byte> bytes) override {
    ++received_;
    if (bytes.size() == sizeof(offer)) return look_at(bytes);
    if (bytes.size() < 8) return;
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    if (word < last_) ordered_ = false;
    last_ = word;
  }
  void on_lost(node_id, incarnation_id, std::string) override {}
  void on_turn_end() override {}
  time_point tick_at() const override { return never; }
  void on_tick(time_point) override {}

  uint64_t received() const { return received_; }
  bool ordered() const { return ordered_; }
  uint64_t last() const { return last_; }

 private:
  void look_at(std::span<const std::byte> bytes) {
    offer o;
    std::memcpy(&o, bytes.data(), sizeof o);
    const region_ref region{
        node_id{o.node}, incarnation_id{o.incarnation}, memory_kind::host, o.offset, o.size, o.generation};
    into_.resize(pulled_bytes(region));
    fabric_.pull(region.node, region.offset, into_, [this, o, region](pull_status status) {
      finding f{o.round, verdict::lost};
      if (status == pull_status::ok) {
        auto payload = verify(region, into_);
        if (trusting_) payload = std::span<const std::byte>(into_).subspan(16, o.size);
        const auto is_foreign = [&o](std::byte b) { return b != static_cast<std::byte>(o.fill); };
        f.found = !payload                                    ? verdict::stale
                  : std::ranges::any_of(*payload, is_foreign) ? verdict::foreign
                                                              : verdict::good;
      }
      const auto* p = reinterpret_cast<const std::byte*>(&f);
      fabric_.send(region.node, {p, p + sizeof f});
    });
  }

  fabric& fabric_;
  const bool trusting_;
  std::vector<std::byte> into_;
  std::atomic<uint64_t> received_{0};
  std::atomic<bool> ordered_{true};
  std::atomic<uint64_t> last_{0};
};

void write_pages(const registered_memory& pages, const lease_offer& o, uint64_t word) {
  for (uint64_t page = 0; page < o.pages; ++page) {
    auto* at = reinterpret_cast<uint64_t*>(pages.bytes.data() + 2 * page * o.page_bytes);
    std::fill_n(at, o.page_bytes / sizeof word, word);
  }
}

void offer_and_reuse(fabric& via, slot_pool& pool, const registered_memory& pages, node_id to, lease_offer o,
                     uint64_t microseconds, const scripted_peer& events) {
  static std::mt19937_64 random(1);
  write_pages(pages, o, o.round);
  const auto lease = pool.take(0)->region;
  o.lease = lease.offset;
  o.generation = lease.generation;
  const auto* p = reinterpret_cast<const std::byte*>(&o);
  via.send(to, {p, p + sizeof o});
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % (1000 * microseconds));
  while (std::chrono::steady_clock::now() < end && events.last() != o.round) {
  }
  pool.give_back(lease);
  write_pages(pages, o, ~o.round);
  while (events.last() != o.round) std::this_thread::yield();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto node = static_cast<uint32_t>(std::stoul(argv[1]));
  const uint64_t incarnation = std::stoull(argv[2]);
  const bool trusting = argc > 3 && std::string(argv[3]) == "trusting";
  machine_clock clock;
  auto options = test_options(node, incarnation);
  options.max_unsent_bytes = 1u << 30;
  const auto fabric = make_test_fabric(options, clock);
  slot_pool pool(options.self, options.incarnation, fabric->allocate(memory_kind::host, 32u << 20));
  const auto second = fabric->allocate(memory_kind::host, 1u << 20);
  for (size_t i = 0; i < second.bytes.size(); ++i) second.bytes[i] = mixed_byte(node, i);
  const auto pages = fabric->allocate(memory_kind::host, 16u << 20);
  scripted_peer events(*fabric, trusting);
  fabric->start(events);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string command;
    in >> command;
    if (command == "address") {
      std::cout << to_hex(fabric->address()) << std::endl;
    } else if (command == "connect") {
      uint32_t to;
      uint64_t its_incarnation;
      std::string hex;
      in >> to >> its_incarnation >> hex;
      fabric->connect(node_id{to}, incarnation_id{its_incarnation}, from_hex(hex));
      std::promise<void> connected;  // earlier frames are discarded
      fabric->post([&] { connected.set_value(); });
      connected.get_future().wait();
      std::cout << "ok" << std::endl;
    } else if (command == "renew") {
      fabric->renew();
      std::cout << to_hex(fabric->address()) << std::endl;
    } else if (command == "burst") {
      uint32_t to;
      uint64_t count;
      in >> to >> count;
      for (uint64_t i = 0; i < count; ++i) {
        std::vector<std::byte> frame(mixed_size(i));
        for (size_t at = 0; at < frame.size(); ++at) frame[at] = mixed_byte(i, at);
        fabric->send(node_id{to}, std::move(frame));
      }
      std::cout << "ok" << std::endl;
    } else if (command == "received") {
      std::cout << events.received() << std::endl;
    } else if (command == "ordered") {
      std::cout << events.ordered() << std::endl;
    } else if (command == "last") {
      std::cout << events.last() << std::endl;
    } else if (command == "take") {
      uint64_t size;
      int fill;
      in >> size >> fill;
      const auto s = pool.take(size);
      if (!s) return 1;
      std::ranges::fill(s->payload, static_cast<std::byte>(fill));
      std::cout << s->region.offset << ' ' << s->region.size << ' ' << s->region.generation << std::endl;
    } else if (command == "second_arena") {
      std::cout << second.offset << std::endl;
    } else if (command == "pages") {
      std::cout << pages.offset << std::endl;
    } else if (command == "lease") {
      uint32_t to;
      uint64_t microseconds, rounds;
      lease_offer o;
      in >> to >> o.pages >> o.page_bytes >> microseconds >> rounds;
      o.incarnation = incarnation;
      o.first = pages.offset;
      for (o.round = 1; o.round <= rounds; ++o.round)
        offer_and_reuse(*fabric, pool, pages, node_id{to}, o, microseconds, events);
      std::cout << "ok" << std::endl;
    } else if (command == "cpu") {
      rusage used{};
      ::getrusage(RUSAGE_SELF, &used);
      std::cout << (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                       used.ru_stime.tv_usec
                << std::endl;
    } else {
      return 2;
    }
  }
  fabric->stop();
}

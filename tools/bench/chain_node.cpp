#include "tools/bench/chain_node.hpp"

#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "gpu/common/fast_hash.hpp"
#include "tools/bench/forked_process.hpp"
#include "tools/bench/perftest.hpp"
#include "tools/bench/two_nodes.hpp"

namespace troupe {

chain_node::chain_node(const bench_chain_options& options, uint32_t self, fabric& via,
                       const registered_memory& arena, const clock& time)
    : options_(options), self_(self), fabric_(via), arena_(arena), clock_(time) {}

void chain_node::begin() {
  const uint64_t one_layer[] = {options_.bytes};
  transfer_.emplace(chunks_of(one_layer, options_.chunk_bytes), 1, options_.window);
  finish_.reset();
  if (self_ == 0) return;
  for (uint32_t c = 0; c < transfer_->size(); ++c)  // so that a chunk that is not copied is noticed
    arena_.bytes[(*transfer_)[c].offset] ^= std::byte{0xff};
}

void chain_node::announce_all() { announce(transfer_->size()); }

void chain_node::announce(uint32_t ready) {
  if (self_ == options_.hops) return;  // the tail
  std::vector<std::byte> frame(sizeof ready);
  std::memcpy(frame.data(), &ready, sizeof ready);
  fabric_.send(node_id{self_ + 1}, std::move(frame));
}

void chain_node::on_frame(std::span<const std::byte> bytes) {
  uint32_t ready = 0;
  std::memcpy(&ready, bytes.data(), sizeof ready);
  transfer_->announce(ready);
  pull_more();
}

void chain_node::pull_more() {
  while (const auto chunk = transfer_->next()) {
    const auto& c = (*transfer_)[*chunk];
    const auto before = transfer_->in_flight();
    fabric_.pull_bulk(node_id{self_ - 1}, c.offset, arena_.bytes.subspan(c.offset, c.bytes),
                      [this, chunk = *chunk](pull_status how) { arrived(chunk, how); });
    if (transfer_->in_flight() < before) return;  // it has ended already; `arrived` goes on in another turn
  }
}

/// May be called within the call of `pull`, so the next one begins in another turn.
void chain_node::arrived(uint32_t chunk, pull_status how) {
  const auto before = transfer_->ready();
  transfer_->ended(chunk, how == pull_status::ok ? chunk_outcome::good : chunk_outcome::lost);
  if (transfer_->ready() > before) announce(transfer_->ready());
  if (transfer_->complete())
    finish_ = clock_.now();
  else
    fabric_.post([this] { pull_more(); });
}

void run_chain_node(int fd, uint32_t self, const bench_chain_options& options) {
  pin_to_cpu(static_cast<int>(self % 2));
  const machine_clock time;
  const auto via = ucx_between_two(node_id{self}, time);
  const auto arena = via->allocate(memory_kind::host, options.bytes);
  if (self == 0)
    for (size_t i = 0; i + sizeof i <= arena.bytes.size(); i += sizeof i)
      std::memcpy(&arena.bytes[i], &i, sizeof i);
  chain_node node(options, self, *via, arena, time);
  via->start(node);
  send_text(fd, via->address());
  const auto on_fabric = [&](const auto& what) {
    std::promise<void> done;
    via->post([&] {
      what();
      done.set_value();
    });
    done.get_future().wait();
  };
  try {
    for (const uint32_t peer : {self - 1, self + 1})
      if (peer <= options.hops) via->connect(node_id{peer}, incarnation_of_both, receive_text(fd));
    while (true) {
      const auto command = receive_text(fd);
      std::optional<time_point> at;
      uint64_t hash = 0;
      if (command == "begin") on_fabric([&] { node.begin(); });
      if (command == "go") on_fabric([&] { at = time.now(), node.announce_all(); });
      if (command == "finish") on_fabric([&] { at = node.finish(); });
      if (command == "hash") on_fabric([&] { hash = fast_hash(arena.bytes); });
      send_text(fd, std::to_string(at ? at->time_since_epoch().count() : static_cast<int64_t>(hash)));
    }
  } catch (const std::runtime_error&) {
    via->stop();  // the parent has closed its end
  }
}

}  // namespace troupe

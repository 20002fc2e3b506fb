#include "transport/fabric/ucx_fabric.hpp"

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "transport/fabric/carrier.hpp"
#include "transport/fabric/driven_fabric.hpp"
#include "transport/fabric/ucx/address.hpp"
#include "transport/fabric/ucx/neighbours.hpp"
#include "transport/fabric/ucx/workers.hpp"

namespace troupe {
namespace {

using namespace ucx;

class ucx_carrier final : public carrier {
 public:
  ucx_carrier(const ucx_options& options, const clock& clock)
      : options_(options), clock_(clock), context_(options.environment) {
    peers_.use(workers_.get());
  }

  registered_memory allocate(memory_kind kind, size_t bytes) override {
    if (!reaches(kind)) throw std::runtime_error("UCX here registers host memory only");
    regions_.push_back(std::make_unique<region>(context_, bytes));
    return peers_.add_arena(regions_.back()->bytes(), kind);
  }
  bool reaches(memory_kind kind) const override { return kind == memory_kind::host; }
  std::string address() const override {
    ucx_address a{options_.self, options_.incarnation, options_.secret, {}, workers_.address()};
    for (const auto& r : regions_)
      a.arenas.push_back({reinterpret_cast<uint64_t>(r->bytes().data()), r->bytes().size(), r->packed_key()});
    return encode(a);
  }
  fabric_stats stats() const override { return peers_.shared().count.read(); }

  void set_post(std::function<void(std::function<void()>)> post) override {
    peers_.set_post(std::move(post));
  }
  void set_events(fabric_events* events) override { peers_.set_events(events); }
  void connect(node_id peer, incarnation_id incarnation, const std::string& address) override {
    peers_.connect(peer, incarnation, address);
  }
  void disconnect(node_id peer) override { peers_.disconnect(peer); }
  void renew() override {
    workers_.renew(clock_.now());
    peers_.renew(workers_.get());
  }
  void send(node_id to, std::vector<std::byte> frame) override { peers_.send(to, std::move(frame)); }
  void begin_pull(node_id from, pull_plan plan, pull_done done) override {
    peers_.pull(from, std::move(plan), std::move(done));
  }
  void break_all(const char* why) override { peers_.break_all(why); }

  void flush() override {}  // UCX does so by itself
  unsigned progress() override { return workers_.progress(); }
  bool close_broken() override {
    const bool any = peers_.shared().attention;
    peers_.close_broken();
    if (workers_.former() > 0)
      workers_.destroy_expired(clock_.now(), [&](ucp_worker_h w) { return peers_.parting(w); });
    return any;
  }
  bool needs_turn() const override { return peers_.busy() || peers_.shared().attention; }
  int event_fd() const override { return workers_.event_fd(); }
  bool arm() override { return workers_.arm(); }

  void leave_all() override { peers_.leave_all(); }
  bool parting() const override { return peers_.parting(); }
  void abandon() override {
    // The first messages of peers that have just connected want an answer (ucx/workers.hpp).
    const auto end = clock_.now() + 20ms;
    while (clock_.now() < end) workers_.progress();
    peers_.abandon();  // the memory of pulls belongs to others again: no progress from now on
  }

 private:
  static ucs_status_t on_message(void* self, const void* head, size_t head_bytes, void* data, size_t bytes,
                                 const ucp_am_recv_param_t* p) noexcept {
    return static_cast<ucx_carrier*>(self)->peers_.on_message(head, head_bytes, data, bytes, p);
  }

  const ucx_options options_;
  const clock& clock_;
  context context_;
  std::vector<std::unique_ptr<region>> regions_;
  neighbours peers_{options_, clock_};
  workers workers_{context_, &on_message, this};
};

}  // namespace

std::unique_ptr<fabric> make_ucx_fabric(const ucx_options& options, const clock& clock) {
  return make_driven_fabric(std::make_unique<ucx_carrier>(options, clock), options, clock);
}

}  // namespace troupe

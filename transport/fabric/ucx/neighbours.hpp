// The peers of this process on the fabric: each has an inbox for arriving frames and, while connected, a link
// for sending. Used by one thread at a time, the one that drives the UCX worker.
#pragma once
#include <ucp/api/ucp.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/fabric/fabric.hpp"
#include "transport/fabric/inbox.hpp"
#include "transport/fabric/pull_request.hpp"
#include "transport/fabric/ucx/link.hpp"
#include "transport/fabric/ucx/wire.hpp"

namespace troupe::ucx {

class neighbours {
 public:
  /// `options` and `time` outlive the neighbours, and these outlive the workers, whose end may call back.
  neighbours(const ucx_options& options, const clock& time);
  /// Before the first connection.
  void use(ucp_worker_h worker) { shared_.worker = worker; }

  /// Memory that peers may pull from.
  registered_memory add_arena(std::span<std::byte> bytes, memory_kind kind) {
    return shared_.memory.add(bytes, kind);
  }
  /// As of `carrier`.
  void set_post(const range_copies::post& to_driver) {
    shared_.copies.set_post(to_driver);
    shared_.low_copies.set_post(to_driver);
  }
  /// Receiver of frames and losses; null: none any more.
  void set_events(fabric_events* events) { events_ = events; }

  void connect(node_id node, incarnation_id incarnation, const std::string& address);
  void disconnect(node_id node);
  void send(node_id to, std::vector<std::byte> frame);
  void pull(node_id from, pull_plan plan, pull_done done);

  /// An active message, as UCX hands it over (ucp_am_recv_callback_t).
  ucs_status_t on_message(const void* head, size_t head_bytes, void* data, size_t bytes,
                          const ucp_am_recv_param_t* p);

  /// Closes broken links and destroys closed ones. Call it after each turn of progress.
  void close_broken() {
    if (shared_.attention) lose_broken();
    if (!leaving_.empty()) reap();
  }
  /// Whether connections are still being closed.
  bool parting() const { return !leaving_.empty(); }
  bool parting(ucp_worker_h worker) const;
  /// UCX calls are pending: the worker must make progress.
  bool busy() const { return shared_.in_flight > 0; }
  /// Breaks every connection at once.
  void break_all(const char* why);
  /// Disconnects from all; later connections use `worker`.
  void renew(ucp_worker_h worker);
  /// Begins to close every connection, once all sent frames have left or the linger time is over.
  void leave_all();
  /// Ends the pulls of links that could not be closed. They stay: the workers may still call back.
  void abandon();

  const link_shared_state& shared() const { return shared_; }

 private:
  struct waiting_pull {
    incarnation_id incarnation;
    uint32_t pull_number;
    pull_request request;
  };
  struct neighbour {
    inbox in;
    std::unique_ptr<link> out;          ///< null while not connected
    std::vector<waiting_pull> waiting;  ///< pulls of a peer that is not connected yet
    size_t waiting_ranges = 0;          ///< of all of them
  };
  struct leaving_link {
    std::unique_ptr<link> out;
    time_point until;  ///< when unsent frames are given up
  };
  static constexpr size_t max_waiting_ranges = 4 * max_early_ranges;
  static constexpr uint32_t max_nodes = 65536;

  /// Null if no node can have this number.
  neighbour* find(uint32_t node);
  link* link_to(node_id node);
  void pull_own(const pull_plan& plan, const pull_done& done);
  void leave(std::unique_ptr<link> out);
  void lose_broken();
  void reap();
  ucs_status_t on_message(const message_head& head, void* data, size_t bytes, bool rendezvous);
  void on_frame(neighbour& from, const message_head& head, std::span<const std::byte> bytes);

  const ucx_options& options_;
  const clock& clock_;
  link_shared_state shared_;
  std::deque<neighbour> peers_;  ///< by node; they do not move
  std::vector<leaving_link> leaving_;
  uint32_t next_stream_ = 1;
  std::vector<std::byte> aligned_;  ///< buffer for copies of misaligned frames
  fabric_events* events_ = nullptr;
};

}  // namespace troupe::ucx

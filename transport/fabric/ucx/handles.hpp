// Owners of the UCX objects that live as long as a fabric: context, worker, registered memory. Private to
// transport/. UCX 1.13.
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::ucx {

/// Throws std::runtime_error("<what>: <UCX's reason>") unless `s` is UCS_OK.
void check(ucs_status_t s, const char* what);

class context {
 public:
  /// Sets the given environment variables unless they are set, then starts UCX. The environment, because
  /// ucp_config_modify accepts a transport's own settings without applying them.
  explicit context(const std::vector<std::pair<std::string, std::string>>& environment);
  ~context() { ucp_cleanup(handle_); }
  context(const context&) = delete;
  context& operator=(const context&) = delete;
  ucp_context_h get() const { return handle_; }

 private:
  ucp_context_h handle_ = nullptr;
};

/// Used by one thread at a time.
class worker {
 public:
  explicit worker(const context& c);
  ~worker() { ucp_worker_destroy(handle_); }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ucp_worker_h get() const { return handle_; }

  unsigned progress() { return ucp_worker_progress(handle_); }
  /// Handles every active message of this program. Call it before the address is published: an id without a
  /// handler crashes the receiver.
  void on_message(ucp_am_recv_callback_t handler, void* argument);
  std::string address() const;
  int event_fd() const { return event_fd_; }
  /// Prepares `event_fd` to report the next event. False if an event is already ready.
  bool arm();

 private:
  ucp_worker_h handle_ = nullptr;
  int event_fd_ = -1;
};

/// Memory that UCX allocated and peers may read. Only memory of UCX's own allocation is one-sided over shared
/// memory. Destroy it before the context: memory mapped at ucp_cleanup aborts the process.
class region {
 public:
  region(const context& c, size_t bytes);
  ~region() { ucp_mem_unmap(context_.get(), handle_); }
  region(const region&) = delete;
  region& operator=(const region&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }
  std::string packed_key() const;

 private:
  const context& context_;
  ucp_mem_h handle_ = nullptr;
  std::span<std::byte> bytes_;
};

/// The only active-message id of the program; the header says the kind of message.
inline constexpr unsigned message_id = 0;

}  // namespace troupe::ucx

#include "transport/fabric/ucx/handles.hpp"

#include <fmt/core.h>
#include <ucs/debug/log_def.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "transport/common/available_memory.hpp"
#include "transport/common/lazy_memory.hpp"
#include "transport/fabric/ucx/event_order.hpp"

namespace troupe::ucx {
namespace {

/// UCX logs to standard output unless redirected before main; standard output belongs to the program.
ucs_log_func_rc_t log_to_stderr(const char*, unsigned, const char*, ucs_log_level_t level,
                                const ucs_log_component_config_t* component, const char* message,
                                va_list args) {
  if (level > component->log_level) return UCS_LOG_FUNC_RC_STOP;
  char text[512];
  std::vsnprintf(text, sizeof text, message, args);
  // Set by default (ucx_options), and unused if UCX_TLS omits posix.
  if (std::strstr(text, "unused env variable: UCX_POSIX_ERROR_HANDLING")) return UCS_LOG_FUNC_RC_STOP;
  std::fprintf(stderr, "ucx: %s\n", text);
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void check(ucs_status_t s, const char* what) {
  if (s != UCS_OK) throw std::runtime_error(fmt::format("{}: {}", what, ucs_status_string(s)));
}

context::context(const std::vector<std::pair<std::string, std::string>>& environment) {
  keep_event_order();
  static std::once_flag once;
  std::call_once(once, [] {
    if (!std::getenv("UCX_LOG_FILE")) ucs_log_push_handler(log_to_stderr);
  });
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 0);
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "reading UCX's settings");
  std::unique_ptr<ucp_config_t, void (*)(ucp_config_t*)> owned(config, &ucp_config_release);
  ucp_params_t p{};
  p.field_mask = UCP_PARAM_FIELD_FEATURES;
  p.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
  const char* transports = std::getenv("UCX_TLS");
  check(ucp_init(&p, config, &handle_),
        fmt::format("starting UCX (UCX_TLS={})", transports ? transports : "").c_str());
}

worker::worker(const context& c) {
  ucp_worker_params_t p{};
  p.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
  p.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  p.am_alignment = 8;
  check(ucp_worker_create(c.get(), &p, &handle_), "creating the UCX worker");
  check(ucp_worker_get_efd(handle_, &event_fd_), "asking UCX for its event descriptor");
}

void worker::on_message(ucp_am_recv_callback_t handler, void* argument) {
  ucp_am_handler_param_t p{};
  p.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                 UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  p.id = message_id;
  p.cb = handler;
  p.arg = argument;
  p.flags = UCP_AM_FLAG_WHOLE_MSG;
  check(ucp_worker_set_am_recv_handler(handle_, &p), "registering the message handler");
}

std::string worker::address() const {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  check(ucp_worker_get_address(handle_, &address, &bytes), "asking UCX for its address");
  std::string out(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(handle_, address);
  return out;
}

bool worker::arm() {
  const ucs_status_t s = ucp_worker_arm(handle_);
  if (s != UCS_ERR_BUSY) check(s, "arming the UCX worker");
  return s == UCS_OK;
}

region::region(const context& c, size_t bytes) : context_(c) {
  require_memory(bytes);
  const size_t pinned = pinned_bytes();
  ucp_mem_map_params_t p{};
  p.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  p.length = bytes;
  p.flags = UCP_MEM_MAP_ALLOCATE;
  check(ucp_mem_map(c.get(), &p, &handle_),
        fmt::format("allocating {} bytes of registered memory (is /dev/shm large enough?)", bytes).c_str());
  ucp_mem_attr_t a{};
  a.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  check(ucp_mem_query(handle_, &a), "asking UCX where the registered memory is");
  bytes_ = {static_cast<std::byte*>(a.address), bytes};
  if (pinned == SIZE_MAX || pinned_bytes() != pinned)
    std::memset(bytes_.data(), 0, bytes);
  else
    discard_pages(bytes_);  // UCX has written shared memory once, to see that there is enough of it
}

std::string region::packed_key() const {
  void* key = nullptr;
  size_t bytes = 0;
  check(ucp_rkey_pack(context_.get(), handle_, &key, &bytes), "packing the key of registered memory");
  std::string out(static_cast<const char*>(key), bytes);
  ucp_rkey_buffer_release(key);
  return out;
}

}  // namespace troupe::ucx

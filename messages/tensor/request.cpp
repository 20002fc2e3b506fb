#include "messages/tensor/request.hpp"

#include <array>

namespace troupe {

std::string_view to_string(drop_reason r) {
  constexpr std::array<std::string_view, drop_reason_count> names{
      "none", "late", "shed", "queue_full", "cancelled", "no_capacity", "draining", "undeployed", "quota"};
  return names[static_cast<size_t>(r)];
}

std::string_view to_string(failure f) {
  constexpr std::array<std::string_view, failure_count> names{
      "none",         "timeout",      "worker_lost", "scheduler_lost",
      "stale_memory", "device_error", "poison",      "adapter_unusable"};
  return names[static_cast<size_t>(f)];
}

std::string_view to_string(worker_loss l) {
  constexpr std::array<std::string_view, worker_loss_count> names{"none", "worker_lost", "worker_crashed"};
  return names[static_cast<size_t>(l)];
}

}  // namespace troupe

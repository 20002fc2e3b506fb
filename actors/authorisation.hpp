// authorisation: who may ask a gateway for what. One table says what each route needs; a route that the table
// does not name needs the admin key.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/cluster.hpp"
#include "transport/http_router.hpp"

namespace troupe {

enum class access {
  open,    ///< everybody: probes
  tenant,  ///< a tenant's key, for a model that the tenant may use; or the admin's
  admin    ///< the admin's key
};

/// What a route of the HTTP face needs. `pattern`: as it was given to the router.
access access_of(std::string_view pattern);

/// The keys that a gateway knows. Without any, everybody may do everything: the cluster file said so.
struct api_keys {
  std::optional<key_digest> admin;
  struct tenant {
    std::string name;
    key_digest key{};
    std::vector<std::string> models;  ///< empty: all
  };
  std::vector<tenant> tenants;

  explicit api_keys(const cluster_spec& cluster);
  bool none() const { return !admin && tenants.empty(); }
};

/// Called on the HTTP threads, before a route's handler.
class authorisation final : public http_guard {
 public:
  explicit authorisation(const cluster_spec& cluster);

  /// Sets `request.tenant` and lets it pass; or answers 401 (no key, or one that nobody has) or 403 (the key
  /// is right, but not for this).
  bool pass(std::string_view pattern, const path_parameters& path, http_request& request,
            http_reply& reply) override;

  /// From now on these keys count. Tenants keep their positions.
  void replace(api_keys keys);

  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  void refuse(http_reply& reply, unsigned status, std::string_view why);

  std::shared_ptr<const api_keys> keys_;  // read and replaced atomically
  std::atomic<uint64_t> refused_{0};
};

}  // namespace troupe

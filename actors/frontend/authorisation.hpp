// authorisation checks the API keys of HTTP requests to a gateway. One table has the access level of each
// route; a route that is not in the table needs the admin key.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "transport/http/router.hpp"

namespace troupe {

enum class access {
  open,    ///< no key: probes
  tenant,  ///< a tenant's key, for a model that the tenant may use; or the admin's
  admin    ///< the admin's key
};

/// The access level of an HTTP route. `pattern`: as added to the router.
access access_of(std::string_view pattern);

/// The keys of a gateway, from the cluster file. Without keys every request is allowed.
struct api_keys {
  std::optional<key_digest> admin;
  struct tenant {
    std::string name;
    key_digest key{};
    std::vector<std::string> models;  ///< empty: all
    bool may_use(std::string_view model) const;
  };
  std::vector<tenant> tenants;

  explicit api_keys(const cluster_spec& cluster);
  bool none() const { return !admin && tenants.empty(); }
};

/// Thread-safe. Called on the HTTP threads after the header of a request, before its body.
class authorisation final : public http_guard {
 public:
  explicit authorisation(const cluster_spec& cluster);

  /// Nothing if the request is allowed; `head.tenant` is set for a tenant's key. Else 401 (no key, or an
  /// unknown one) or 403 (the key does not allow this request).
  std::optional<http_response> refusal(std::string_view pattern, const path_parameters& path,
                                       http_request& head) override;

  /// True if the tenant may use the model (`http_request::tenant`; 0 may use all).
  bool may_see(uint32_t tenant, std::string_view model) const;

  /// Replaces the keys. Requires: tenants keep their positions.
  void replace(api_keys keys);

  /// The number of refused requests, by reason.
  void report(std::vector<metric>& out) const;

 private:
  enum class refused { no_key, unknown_key, forbidden };
  http_response refuse(std::string_view pattern, refused why, std::string text);

  std::shared_ptr<const api_keys> keys_;  // read and replaced atomically
  std::array<std::atomic<uint64_t>, 3> refused_{};
};

}  // namespace troupe

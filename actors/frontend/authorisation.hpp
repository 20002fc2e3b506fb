// authorisation: who may ask a gateway for what. One table says what each route needs; a route that the table
// does not name needs the admin key.
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
    bool may_use(std::string_view model) const;
  };
  std::vector<tenant> tenants;

  explicit api_keys(const cluster_spec& cluster);
  bool none() const { return !admin && tenants.empty(); }
};

/// Called on the HTTP threads, when the header of a request is there and its body is not.
class authorisation final : public http_guard {
 public:
  explicit authorisation(const cluster_spec& cluster);

  /// Nothing, and `head.tenant` is set; or 401 (no key, or one that nobody has) or 403 (the key is right, but
  /// not for this).
  std::optional<http_response> refusal(std::string_view pattern, const path_parameters& path,
                                       http_request& head) override;

  /// Whether a list of models shows this one to a tenant (`http_request::tenant`; 0: it may see all).
  bool may_see(uint32_t tenant, std::string_view model) const;

  /// From now on these keys count. Tenants keep their positions.
  void replace(api_keys keys);

  /// How many were refused, by reason.
  void report(std::vector<metric>& out) const;

 private:
  enum class refused { no_key, unknown_key, forbidden };
  http_response refuse(std::string_view pattern, refused why, std::string text);

  std::shared_ptr<const api_keys> keys_;  // read and replaced atomically
  std::array<std::atomic<uint64_t>, 3> refused_{};
};

}  // namespace troupe

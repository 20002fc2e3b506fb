#include "actors/frontend/authorisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "transport/openai/error.hpp"
#include "transport/tls/api_key.hpp"

namespace troupe {
namespace {

constexpr std::array<std::pair<std::string_view, access>, 26> table{{
    {"/health", access::open},
    {"/v2/health/live", access::open},
    {"/v2/health/ready", access::open},
    {"/ui", access::open},  // the page is static; its data comes from /ui/events
    {"/v2", access::tenant},
    {"/v2/models", access::tenant},
    {"/v2/models/{model}", access::tenant},
    {"/v2/models/{model}/ready", access::tenant},
    {"/v2/models/{model}/config", access::tenant},
    {"/v2/models/{model}/infer", access::tenant},
    {"/v2/models/{model}/versions/{version}", access::tenant},
    {"/v2/models/{model}/versions/{version}/ready", access::tenant},
    {"/v2/models/{model}/versions/{version}/config", access::tenant},
    {"/v2/models/{model}/versions/{version}/infer", access::tenant},
    // The body names the model, so the handlers check it.
    {"/v1/models", access::tenant},
    {"/v1/models/{id...}", access::tenant},
    {"/v1/completions", access::tenant},
    {"/v1/chat/completions", access::tenant},
    {"/v1/embeddings", access::tenant},
    {"/v1/rerank", access::tenant},
    {"/rerank", access::tenant},
    {"/tokenize", access::tenant},
    {"/detokenize", access::tenant},
    // Routes that show other tenants' data:
    {"/metrics", access::admin},
    {"/v2/models/{model}/stats", access::admin},
    {"/v2/repository/index", access::admin},
}};

/// The key of "Authorization: Bearer KEY"; nothing if there is no such header.
std::optional<std::string_view> presented_key(const http_request& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto header = request.headers.find("Authorization");
  if (!header || header->size() <= scheme.size()) return {};
  for (size_t i = 0; i < scheme.size(); ++i)
    if (((*header)[i] | 0x20) != (scheme[i] | 0x20)) return {};
  auto key = header->substr(scheme.size());
  while (!key.empty() && key.front() == ' ') key.remove_prefix(1);
  while (!key.empty() && key.back() == ' ') key.remove_suffix(1);
  return key;
}

}  // namespace

access access_of(std::string_view pattern) {
  const auto* it =
      std::find_if(table.begin(), table.end(), [&](const auto& r) { return r.first == pattern; });
  return it == table.end() ? access::admin : it->second;
}

bool api_keys::tenant::may_use(std::string_view model) const {
  return models.empty() || std::find(models.begin(), models.end(), model) != models.end();
}

api_keys::api_keys(const cluster_spec& cluster) {
  if (cluster.security.admin) admin = cluster.security.admin->digest;
  for (const auto& t : cluster.tenants) tenants.push_back({t.name, t.key.digest, t.models});
}

authorisation::authorisation(const cluster_spec& cluster) : keys_(std::make_shared<api_keys>(cluster)) {}

void authorisation::replace(api_keys keys) {
  std::atomic_store(&keys_, std::shared_ptr<const api_keys>(std::make_shared<api_keys>(std::move(keys))));
}

std::optional<http_response> authorisation::refusal(std::string_view pattern, const path_parameters& path,
                                                    http_request& head) {
  const auto needed = access_of(pattern);
  const auto keys = std::atomic_load(&keys_);
  if (needed == access::open || keys->none()) return {};
  if (needed == access::tenant && keys->tenants.empty()) return {};  // only the admin has a key

  const auto key = presented_key(head);
  if (!key)
    return refuse(pattern, refused::no_key,
                  "an API key is required: send the header 'Authorization: Bearer KEY'");
  const auto digest = digest_of(*key);
  if (keys->admin && same_key(digest, *keys->admin)) return {};
  const api_keys::tenant* who = nullptr;
  for (const auto& t : keys->tenants)
    if (same_key(digest, t.key)) who = &t;
  if (who == nullptr)
    return refuse(pattern, refused::unknown_key,
                  "the API key is unknown; send the key of a [[tenant]] or of [admin]");
  if (needed == access::admin)
    return refuse(pattern, refused::forbidden,
                  keys->admin
                      ? "the admin key is required; this is the key of a tenant"
                      : "the admin key is required, and the cluster file has none; add one in [admin]");
  const auto& model = path["model"];
  if (!model.empty() && !who->may_use(model))
    return refuse(pattern, refused::forbidden,
                  fmt::format("tenant '{}' may not use model '{}'", who->name, model));
  head.tenant = static_cast<uint32_t>(who - keys->tenants.data()) + 1;
  return {};
}

bool authorisation::may_see(uint32_t tenant, std::string_view model) const {
  const auto keys = std::atomic_load(&keys_);
  return tenant == 0 || tenant > keys->tenants.size() || keys->tenants[tenant - 1].may_use(model);
}

http_response authorisation::refuse(std::string_view pattern, refused why, std::string text) {
  refused_[static_cast<size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  auto r = openai::path_error(pattern, why == refused::forbidden ? 403 : 401, std::move(text));
  if (why != refused::forbidden) r.headers.add("WWW-Authenticate", "Bearer realm=\"troupe\"");
  return r;
}

void authorisation::report(std::vector<metric>& out) const {
  constexpr std::array reasons{"no_key", "unknown_key", "forbidden"};  // as `refused`
  for (size_t i = 0; i < reasons.size(); ++i)
    out.push_back({"troupe_http_unauthorised_total",
                   {{"reason", reasons[i]}},
                   static_cast<double>(refused_[i].load(std::memory_order_relaxed)),
                   metric::kind::counter});
}

}  // namespace troupe

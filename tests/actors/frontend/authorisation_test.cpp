#include "actors/frontend/authorisation.hpp"

#include <doctest/doctest.h>

#include <map>

#include "transport/tls/api_key.hpp"

using namespace troupe;

namespace {

cluster_spec cluster_of_two_tenants() {
  cluster_spec c;
  c.security.admin = api_key_spec{digest_of("the admin's own key"), {}};
  c.tenants.resize(2);
  c.tenants[0].name = "search";
  c.tenants[0].key.digest = digest_of("key of search 0123");
  c.tenants[0].models = {"mlp"};
  c.tenants[1].name = "ads";
  c.tenants[1].key.digest = digest_of("key of ads 0123456");
  return c;
}

/// The status of the refusal; 0: the request may pass.
struct verdict {
  unsigned status = 0;
  uint32_t tenant = 0;
  std::optional<std::string> challenge;
};

verdict ask(authorisation& guard, std::string_view pattern, std::optional<std::string> header,
            std::string model = {}) {
  http_request request;
  if (header) request.headers.add("authorization", *header);
  path_parameters path;
  if (!model.empty()) path.add("model", std::move(model));
  const auto refusal = guard.refusal(pattern, path, request);
  if (!refusal) return {0, request.tenant, {}};
  verdict v{refusal->status, 0, {}};
  if (const auto c = refusal->headers.find("WWW-Authenticate")) v.challenge = std::string(*c);
  return v;
}

constexpr auto infer = "/v2/models/{model}/infer";

}  // namespace

TEST_CASE("without any key in the cluster file every caller has every right") {
  authorisation guard{cluster_spec{}};
  CHECK(ask(guard, infer, {}, "mlp").status == 0);
  CHECK(ask(guard, "/metrics", {}).status == 0);
  CHECK(ask(guard, "/never/heard/of", {}).status == 0);
}

TEST_CASE("probes stay open") {
  authorisation guard{cluster_of_two_tenants()};
  for (const auto* path : {"/health", "/v2/health/live", "/v2/health/ready"})
    CHECK(ask(guard, path, {}).status == 0);
}

TEST_CASE("a missing or unknown key is 401 with a challenge") {
  authorisation guard{cluster_of_two_tenants()};
  for (const auto& header :
       {std::optional<std::string>{}, std::optional<std::string>{""}, std::optional<std::string>{"Bearer"},
        std::optional<std::string>{"Bearer "}, std::optional<std::string>{"Basic key of search 0123"},
        std::optional<std::string>{"Bearer key of search 012"},
        std::optional<std::string>{"Bearer key of search 01234"}}) {
    const auto v = ask(guard, infer, header, "mlp");
    CHECK(v.status == 401);
    CHECK(v.challenge == "Bearer realm=\"troupe\"");
  }
}

TEST_CASE("a tenant's key names the tenant and opens its models only") {
  authorisation guard{cluster_of_two_tenants()};
  CHECK(ask(guard, infer, "Bearer key of search 0123", "mlp").tenant == 1);
  CHECK(ask(guard, infer, "bearer   key of search 0123 ", "mlp").status == 0);
  CHECK(ask(guard, infer, "Bearer key of search 0123", "encoder").status == 403);
  CHECK(ask(guard, infer, "Bearer key of ads 0123456", "encoder").tenant == 2);
  CHECK(ask(guard, "/v2/models", "Bearer key of search 0123").status == 0);
}

TEST_CASE("routes that show other tenants or change models need the admin key, and so do unknown routes") {
  authorisation guard{cluster_of_two_tenants()};
  for (const auto* path : {"/metrics", "/v2/repository/index", "/v2/repository/models/{model}/load",
                           "/v2/models/{model}/stats", "/added/later"}) {
    CHECK(ask(guard, path, "Bearer key of ads 0123456").status == 403);
    CHECK(ask(guard, path, {}).status == 401);
    const auto v = ask(guard, path, "Bearer the admin's own key");
    CHECK(v.status == 0);
    CHECK(v.tenant == 0);
  }
}

TEST_CASE("with tenants but no admin key administration is closed to all") {
  auto cluster = cluster_of_two_tenants();
  cluster.security.admin.reset();
  authorisation guard{cluster};
  CHECK(ask(guard, "/metrics", "Bearer key of ads 0123456").status == 403);
}

TEST_CASE("with an admin key alone inference stays open") {
  auto cluster = cluster_of_two_tenants();
  cluster.tenants.clear();
  authorisation guard{cluster};
  CHECK(ask(guard, infer, {}, "mlp").status == 0);
  CHECK(ask(guard, "/metrics", {}).status == 401);
}

TEST_CASE("refused requests are counted by reason") {
  authorisation guard{cluster_of_two_tenants()};
  ask(guard, infer, {}, "mlp");
  ask(guard, infer, "Bearer nobody's", "mlp");
  ask(guard, infer, "Bearer nobody's", "mlp");
  ask(guard, infer, "Bearer key of search 0123", "encoder");
  ask(guard, "/metrics", "Bearer key of search 0123");
  ask(guard, "/metrics", "Bearer key of ads 0123456");
  ask(guard, infer, "Bearer key of search 0123", "mlp");
  std::vector<metric> out;
  guard.report(out);
  std::map<std::string, double> counted;
  for (const auto& m : out) {
    CHECK(m.name == "troupe_http_unauthorised_total");
    counted[m.labels.at(0).second] = m.value;
  }
  CHECK(counted == std::map<std::string, double>{{"no_key", 1}, {"unknown_key", 2}, {"forbidden", 3}});
}

TEST_CASE("a list shows a tenant its models, and other callers all") {
  authorisation guard{cluster_of_two_tenants()};
  CHECK(guard.may_see(1, "mlp"));
  CHECK_FALSE(guard.may_see(1, "encoder"));
  CHECK(guard.may_see(2, "encoder"));
  CHECK(guard.may_see(0, "encoder"));
}

TEST_CASE("new keys replace the old ones at once") {
  const auto cluster = cluster_of_two_tenants();
  authorisation guard{cluster};
  auto keys = api_keys(cluster);
  keys.tenants[0].key = digest_of("a new key of search");
  guard.replace(keys);
  CHECK(ask(guard, infer, "Bearer key of search 0123", "mlp").status == 401);
  CHECK(ask(guard, infer, "Bearer a new key of search", "mlp").tenant == 1);
}

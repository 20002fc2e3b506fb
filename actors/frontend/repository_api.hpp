// repository_api is the KServe model repository extension of a gateway: it loads and unloads models over
// HTTP. Clients can name only models of the deployment log, or files below the directory that the cluster
// file allows.
#pragma once
#include <caf/fwd.hpp>
#include <functional>
#include <memory>
#include <string>

#include "actors/common/backlog.hpp"
#include "actors/runtime/caf_types.hpp"
#include "transport/http/router.hpp"

namespace troupe {

class repository_api {
 public:
  /// A model's definition for the deployer, or the problem with it.
  struct reading {
    std::string definition;
    std::string problem;  ///< empty: none
  };
  struct parts {
    caf::actor_system& system;
    deployer_protocol deployments;
    /// `json`: the keys of a [[model]] table, for the model of this name. Called from any thread,
    /// concurrently.
    std::function<reading(const std::string& name, const std::string& json)> read_config;
    std::function<bool(const std::string& name)> served;  ///< by a worker, as far as this gateway knows
    duration decided_within{};  ///< decision of a scheduler that has just started: three node timeouts
    duration timeout = 50s;     ///< for a change to be done everywhere
  };
  explicit repository_api(parts p) : parts_(std::move(p)) {}

  /// POST /v2/repository/models/{model}/load and /unload. The router does not outlive this.
  void add_to(http_router& router);

 private:
  void load(const http_request& request, const std::string& model, http_reply reply);
  void unload(const std::string& model, http_reply reply);

  parts parts_;
  static constexpr size_t max_readers = 16;  // definitions read at a time, one thread each
  const std::shared_ptr<backlog> readers_ = std::make_shared<backlog>(max_readers);
};

}  // namespace troupe

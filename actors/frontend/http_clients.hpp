// http_clients keeps the tensor requests of a gateway's HTTP clients until their answers. As client_port it
// passes the answers of the gateway to HTTP. Thread-safe.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "actors/frontend/inference_statistics.hpp"
#include "actors/tensor/catalog.hpp"
#include "actors/tensor/gateway.hpp"
#include "transport/http/message.hpp"
#include "transport/kserve/v2.hpp"

namespace troupe {

/// The header with the request's id, for `troupe why`, in the answer to every request that got an id.
inline constexpr const char* request_id_header = "Troupe-Request-Id";

/// A drop or failure as reported to HTTP clients, in any format.
struct refusal_text {
  unsigned status = 500;
  std::string reason;  ///< one word, for programs
  std::string text;
};
refusal_text refusal_of(const outcome& how);

/// The same in KServe's format.
http_response refusal_response(const outcome& how);

class http_clients final : public client_port {
 public:
  struct waiting {
    http_reply reply;
    catalog::view model;
    infer_request asked;  ///< without `inputs`, which are views of the body
    time_point parsed_at = never;
    bool timed = false;         ///< it asked for a Server-Timing header (request_timing.hpp)
    catalog::view padded = {};  ///< it ran in the shapes of this model; null: in those of `model`
    bool with_shapes = false;   ///< its outputs have their shapes before them (shaped_tensors.hpp)
    uint32_t rows = 0;          ///< by these shapes; 0: as `asked` says
    /// Gets the answer in place of `reply`, in a turn of the gateway; `numbers` holds `how.output`.
    std::function<void(const outcome& how, std::vector<std::byte> numbers)> taker = {};
  };
  explicit http_clients(const clock& time) : time_(time) {}
  void expect(request_id id, waiting w);
  /// Counts the outcome and returns at once: the thread of the connection writes the body.
  void answer(request_id id, const outcome& how, std::vector<std::byte> pulled) override;
  void executed(model_id model, uint32_t rows, const batch_times& times) override {
    statistics_.executed(model, rows, times);
  }

  uint64_t unwritten_bytes() const override { return unwritten_bytes_.load(std::memory_order_relaxed); }

  /// Requests that are parsed and not answered.
  size_t waiting_now() const { return waiting_now_.load(std::memory_order_relaxed); }
  const inference_statistics& statistics() const { return statistics_; }

 private:
  /// Sharded, because HTTP threads and the gateway contend for the locks.
  using table = std::unordered_map<request_id, waiting>;
  struct shard {
    std::mutex mutex;
    table open;
  };
  class result_writer;
  shard& of(request_id id) { return shards_[id.value % shards_.size()]; }
  const clock& time_;
  std::array<shard, 16> shards_;
  std::atomic<size_t> waiting_now_{0};
  std::atomic<uint64_t> unwritten_bytes_{0};
  inference_statistics statistics_;
};

}  // namespace troupe

#include "actors/frontend/http_clients.hpp"

#include "actors/frontend/request_timing.hpp"
#include "messages/tensor/shaped_tensors.hpp"
#include "transport/kserve/shape_choice.hpp"

namespace troupe {

refusal_text refusal_of(const outcome& how) {
  refusal_text out;
  auto& [status, reason, text] = out;
  if (how.kind == outcome_kind::dropped) {
    reason = to_string(how.reason);
    switch (how.reason) {
      case drop_reason::late: status = 503, text = "it cannot be answered by its deadline"; break;
      case drop_reason::shed:
        status = 503, text = "it was shed so that other requests meet their deadlines";
        break;
      case drop_reason::queue_full: status = 429, text = "too many requests are waiting"; break;
      case drop_reason::no_capacity: status = 503, text = "no worker serves the model now"; break;
      case drop_reason::undeployed: status = 404, text = "the model is no longer served"; break;
      case drop_reason::quota: status = 429, text = "the tenant has reached its limit"; break;
      case drop_reason::draining: status = 503, text = "the server is shutting down"; break;
      default: status = 499, text = "cancelled";
    }
    text = "request dropped: " + text;
  } else {
    reason = to_string(how.error);
    const bool its_own = how.error == failure::device_error || how.error == failure::poison ||
                         how.error == failure::adapter_unusable;
    status = how.error == failure::timeout ? 504 : its_own ? 500 : 503;
    text = how.error == failure::poison
               ? "two workers failed while they ran it, the second with it alone; do not send it again"
           : how.detail.empty() ? reason
                                : std::string(how.detail);
    text = "request failed: " + text;
  }
  return out;
}

http_response refusal_response(const outcome& how) {
  const auto r = refusal_of(how);
  return http_error_response(r.status, r.text, how.retry_after, r.reason);
}

void http_clients::expect(request_id id, waiting w) {
  auto& s = of(id);
  std::lock_guard lock(s.mutex);
  s.open.emplace(id, std::move(w));
  ++waiting_now_;
}

/// Writes the response to a finished request, which it owns.
class http_clients::result_writer final : public response_writer {
 public:
  result_writer(table::node_type of, const outcome& how, std::vector<std::byte> pulled, http_clients& all)
      : of_(std::move(of)), how_(how), pulled_(std::move(pulled)), all_(all) {
    all_.unwritten_bytes_ += pulled_.size();
  }
  ~result_writer() override { all_.unwritten_bytes_ -= pulled_.size(); }
  result_writer(const result_writer&) = delete;
  result_writer& operator=(const result_writer&) = delete;

  http_response write() override {
    const auto& w = of_.mapped();
    const auto& sent = w.model->signature;
    auto output = how_.output;
    std::vector<std::byte> cut;
    if (w.padded) output = cut = cut_outputs(w.padded->signature, sent, w.asked.rows, output);
    std::optional<model_signature> computed;
    if (w.with_shapes)
      if (auto shaped = read_shapes(sent.outputs, output)) {
        computed = {sent.inputs, std::move(shaped->tensors), sent.batched};
        output = shaped->values;
      }
    auto answer =
        format_infer({w.model->name, "1"}, w.asked, computed ? *computed : sent, output, how_.batch_rows);
    if (!answer) return http_error_response(answer.error().status, answer.error().message);
    http_response r;
    r.headers.add(request_id_header, std::to_string(of_.key().value));
    r.body = std::move(answer->body);
    if (answer->json_bytes) {
      r.content_type = "application/octet-stream";
      r.headers.add("Inference-Header-Content-Length", std::to_string(*answer->json_bytes));
    }
    if (w.timed && how_.completed_at != never)
      r.headers.add("Server-Timing", to_header(request_timing_of(how_, w.parsed_at, all_.time_.now())));
    return r;
  }

 private:
  table::node_type of_;
  const outcome how_;
  std::vector<std::byte> pulled_;  // holds how_.output
  http_clients& all_;
};

void http_clients::answer(request_id id, const outcome& how, std::vector<std::byte> pulled) {
  auto& s = of(id);
  std::unique_lock lock(s.mutex);
  auto node = s.open.extract(id);
  lock.unlock();
  if (node.empty()) return;
  --waiting_now_;
  auto& w = node.mapped();
  statistics_.answered(w.model->model, w.rows > 0 ? w.rows : w.asked.rows, how);
  if (w.taker) return w.taker(how, std::move(pulled));
  if (how.kind != outcome_kind::finished) {
    auto refusal = refusal_response(how);
    refusal.headers.add(request_id_header, std::to_string(id.value));
    return w.reply.send(std::move(refusal));
  }
  auto reply = std::move(w.reply);
  reply.send(std::make_unique<result_writer>(std::move(node), how, std::move(pulled), *this));
}

}  // namespace troupe

#include "actors/frontend/completion_clients.hpp"

namespace troupe {

void completion_clients::expect(std::unique_ptr<completion_answer> answer) {
  const std::shared_ptr<completion_answer> shared = std::move(answer);
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < shared->requests().size(); ++i)
    open_.emplace(shared->requests()[i], place{shared, i});
  waiting_now_ = open_.size();
}

bool completion_clients::token(const generated_token& t) {
  std::unique_lock lock(mutex_);
  const auto found = open_.find(t.id);
  if (found == open_.end()) return false;  // another prompt has failed: the request is being cancelled
  const auto at = found->second;
  lock.unlock();
  return at.answer->token(at.prompt, t);
}

void completion_clients::ended(request_id id, const outcome& how) {
  std::unique_lock lock(mutex_);
  auto node = open_.extract(id);
  waiting_now_ = open_.size();
  lock.unlock();
  if (node.empty()) return;
  const auto answer = node.mapped().answer;
  if (!answer->ended(how)) return;
  std::vector<request_id> rest;
  lock.lock();
  for (const auto other : answer->requests())
    if (open_.erase(other) > 0) rest.push_back(other);
  waiting_now_ = open_.size();
  lock.unlock();
  for (const auto other : rest) give_up_(other);
}

uint64_t completion_clients::expect_change(http_reply reply, std::string done) {
  std::lock_guard lock(mutex_);
  const auto token = next_change_++;
  changes_.emplace(token, change{std::move(reply), std::move(done)});
  return token;
}

void completion_clients::adapter_changed(const troupe::adapter_changed& a) {
  std::unique_lock lock(mutex_);
  auto node = changes_.extract(a.token);
  lock.unlock();
  if (node.empty()) return;
  auto& [reply, done] = node.mapped();
  switch (a.answer) {
    case adapter_answer::done: {
      http_response r;
      r.content_type = "text/plain; charset=utf-8";
      r.body = done;
      return reply.send(std::move(r));
    }
    case adapter_answer::exists:
      return reply.send(openai::error_response(
          {400, "an adapter or model of this name is loaded already; unload it first", "lora_name", {}}));
    case adapter_answer::unknown:
      return reply.send(openai::error_response({404, "no adapter of this name is loaded", "lora_name", {}}));
    case adapter_answer::refused:
      return reply.send(openai::error_response({400, a.message, "lora_path", {}}));
  }
}

}  // namespace troupe

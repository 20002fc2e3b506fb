#include "policies/cluster/forwarded_commands.hpp"

#include <utility>

namespace troupe {

uint64_t forwarded_commands::add(node_id to, answer reply) {
  const auto token = next_token_++;
  waiting_[token] = {to, std::move(reply)};
  return token;
}

forwarded_commands::answer forwarded_commands::take(uint64_t token) {
  const auto command = waiting_.find(token);
  if (command == waiting_.end()) return {};
  auto reply = std::move(command->second.reply);
  waiting_.erase(command);
  return reply;
}

std::vector<forwarded_commands::answer> forwarded_commands::lose(node_id node) {
  std::vector<answer> out;
  std::erase_if(waiting_, [&](auto& command) {
    if (command.second.to != node) return false;
    out.push_back(std::move(command.second.reply));
    return true;
  });
  return out;
}

}  // namespace troupe

#include "actors/kinds/model_queues.hpp"

namespace troupe {

void spawn_model_queue(const spawn_context& node) {
  if (node.me().schedules()) node.queues.spawn(node);
}

}  // namespace troupe

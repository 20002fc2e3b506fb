// What an order for more or fewer instances of a language model starts, stops and moves.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "messages/common/message.hpp"

namespace troupe {

struct predicted_instance {
  uint32_t engine = 0;
  std::string node;
  double predicted_s = 0;  ///< until its weights have arrived, by the rates of links and disks; 0: they are
                           ///< there, or there is no rate
  TROUPE_MESSAGE(predicted_instance, engine, node, predicted_s)
};
struct chain_state {
  std::vector<std::string> nodes;  ///< each pulls from the one before it
  TROUPE_MESSAGE(chain_state, nodes)
};
struct scaling_plan {
  std::vector<predicted_instance> starts;  ///< engines that will serve
  std::vector<uint32_t> stops;             ///< engines that will drain
  std::vector<chain_state> chains;
  std::vector<std::string> reads;  ///< nodes that read the checkpoint, because nobody has the weights
  TROUPE_MESSAGE(scaling_plan, starts, stops, chains, reads)
};

}  // namespace troupe

// For actors whose messages no test reads.
#pragma once
#include "actors/shell.hpp"

namespace troupe {

struct no_outbox final : outbox {
  void send(const address&, const address&, shell_message) override {}
};

}  // namespace troupe

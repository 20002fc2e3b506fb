// The answer that an HTTP client receives.
#pragma once
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <string>

#include "transport/http/message.hpp"

namespace troupe::test {

/// Of an API that streams nothing.
struct recorded_reply final : http_exchange {
  void respond(http_response r) override {
    status = static_cast<int>(r.status);
    body = r.body;
    done = true;
  }
  void on_cancel(std::function<void()>) override {}
  void begin(http_response) override { FAIL("an answer was streamed"); }
  void write(std::string) override {}
  void end(bool) override {}
  int status = 0;  ///< valid once `done`
  std::string body;
  std::atomic<bool> done{false};
};

}  // namespace troupe::test

// The refusal of an invalid body.
#pragma once
#include <doctest/doctest.h>

#include <string>

#include "transport/openai/error.hpp"

namespace troupe::openai {

/// "<param> | <message>"; nothing if it was accepted.
template <class T>
std::string refusal(const result<T>& r) {
  if (r) return "";
  CHECK(r.error().status == 400);
  CHECK(!r.error().message.empty());
  return r.error().param + " | " + r.error().message;
}

/// The param alone.
template <class T>
std::string blamed(const result<T>& r) {
  const auto all = refusal(r);
  return all.substr(0, all.find(" | "));
}

}  // namespace troupe::openai

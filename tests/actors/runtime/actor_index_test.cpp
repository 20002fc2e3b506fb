#include "actors/runtime/actor_index.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("actor index: an actor is found by its role and index until it is erased") {
  actor_index i;
  CHECK(i.find(role::model_queue, 2) == actor_index::none);
  i.set(role::model_queue, 2, 7);
  CHECK(i.find(role::model_queue, 2) == 7);
  CHECK(i.find(role::model_queue, 0) == actor_index::none);
  CHECK(i.find(role::gpu_worker, 2) == actor_index::none);
  i.erase(role::model_queue, 2);
  CHECK(i.find(role::model_queue, 2) == actor_index::none);
  i.set(role::model_queue, 2, 1);
  CHECK(i.find(role::model_queue, 2) == 1);
}

#include "policies/scaling/node_rates.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr weights_id read_model{0}, other_model{1};

/// Four layers of as many bytes as a sample has.
struct read_images {
  std::vector<image_chunk> chunks;
  node_rates rates;
  time_point now{1s};

  read_images() {
    for (uint32_t l = 0; l < 4; ++l) chunks.push_back({l, 0, measured_rate::sample_bytes});
  }
  void look(uint32_t ready, duration later = {}, weights_id model = read_model) {
    now += later;
    rates.on_reading(model, chunks, ready, now);
  }
};
constexpr double of_layers_in(duration each) {
  return static_cast<double>(measured_rate::sample_bytes) * 8 / static_cast<double>(each.count());
}

}  // namespace

TEST_CASE("node rates: the latest rate of each peer counts") {
  node_rates r;
  CHECK(r.peers().empty());
  r.on_measured({node_id{2}, 8});
  r.on_measured({node_id{1}, 5});
  r.on_measured({node_id{2}, 9});
  CHECK(r.peers() == std::vector<peer_rate>{{node_id{1}, 5}, {node_id{2}, 9}});
  CHECK(r.disk_gbit_per_s() == 0);
}

TEST_CASE("node rates: the disk's is that of images that fill, from the order on") {
  read_images r;
  r.look(0);
  r.look(0, 50ms);
  CHECK(r.rates.disk_gbit_per_s() == 0);
  r.look(1, 50ms);
  CHECK(r.rates.disk_gbit_per_s() == doctest::Approx(of_layers_in(100ms)));
  r.look(3, 200ms);
  r.look(4, 100ms);
  CHECK(r.rates.disk_gbit_per_s() == doctest::Approx(of_layers_in(100ms)));
  r.look(4, 10s);  // complete
  r.look(4, 10s);
  CHECK(r.rates.disk_gbit_per_s() == doctest::Approx(of_layers_in(100ms)));
}

TEST_CASE("node rates: chunks that came from elsewhere, and time without a reader, do not count") {
  read_images r;
  r.look(0);
  r.look(1, 100ms);
  r.rates.on_no_reading(read_model);  // a peer gives two layers
  r.look(3, 10s);
  r.look(4, 100ms);
  CHECK(r.rates.disk_gbit_per_s() == doctest::Approx(of_layers_in(100ms)));
  r.look(0, 10s);  // other images of the model
  r.look(1, 100ms);
  CHECK(r.rates.disk_gbit_per_s() == doctest::Approx(of_layers_in(100ms)));
}

TEST_CASE("node rates: two models that are read at once share the disk") {
  read_images r;
  r.look(0);
  r.look(0, {}, other_model);
  for (uint32_t l = 1; l <= 4; ++l) {
    r.look(l, 100ms);
    r.look(l, 100ms, other_model);
  }
  CHECK(r.rates.disk_gbit_per_s() == doctest::Approx(of_layers_in(100ms)));
}

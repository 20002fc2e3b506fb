#include "config/external_data.hpp"

#include <algorithm>

#include "tests/config/cluster_text.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;

namespace {

using places = std::set<std::string>;

/// A field with bytes, in protobuf's form.
std::string field(unsigned number, const std::string& bytes) {
  std::string out;
  for (uint64_t x : {uint64_t{number} << 3 | 2, uint64_t{bytes.size()}}) {
    for (; x >= 0x80; x >>= 7) out += static_cast<char>(x | 0x80);
    out += static_cast<char>(x);
  }
  return out + bytes;
}

std::string tensor(const std::string& place) {
  return "\x10\x01" + field(8, "w") + field(13, field(1, "location") + field(2, place)) +
         field(13, field(1, "length") + field(2, "8"));
}

/// A model with one tensor in a graph.
std::string model(const std::string& place) { return field(7, field(5, tensor(place))); }

places found(const std::string& content) {
  const temporary_folder folder;
  return external_data_of(folder.write("m.onnx", content));
}

}  // namespace

TEST_CASE("external data: it is found in initializers, attributes, nested graphs and functions") {
  const auto node = [](const std::string& attribute) { return field(1, field(5, attribute)); };
  const auto graph = field(5, tensor("a")) + field(15, field(1, tensor("sparse"))) +
                     node(field(5, tensor("b"))) + node(field(10, tensor("c"))) +
                     node(field(6, field(5, tensor("d")) + node(field(11, field(5, tensor("e"))))));
  const auto function = field(25, field(7, field(5, field(5, tensor("f")))));
  CHECK(found(field(7, graph) + function) == places{"a", "b", "c", "d", "e", "f", "sparse"});
}

TEST_CASE("external data: weights in the file are skipped") {
  const std::string weights(100'000, '\xff');
  CHECK(found(field(7, field(5, field(9, weights)) + field(5, tensor("w.bin")) + field(5, field(9, "x")))) ==
        places{"w.bin"});
}

TEST_CASE("external data: places outside of the folder are no files of the model") {
  for (const auto* place : {"/etc/passwd", "../w.bin", "a/../../w.bin", ""})
    CHECK(found(model(place)).empty());
  CHECK(found(model("./weights/w.bin")) == places{"weights/w.bin"});
}

TEST_CASE("external data: a damaged file gives the places before the damage") {
  const auto whole = model("w.bin") + model("v.bin");
  for (size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    const auto some = found(whole.substr(0, size));
    CHECK(std::ranges::includes(places{"v.bin", "w.bin"}, some));
  }
  std::string deep;
  for (int i = 0; i < 300; ++i) deep = field(1, field(5, field(6, deep)));
  CHECK(found(field(7, deep)).empty());
  CHECK(external_data_of("/nowhere.onnx").empty());
}

TEST_CASE("external data: its content counts in the hash of a cluster") {
  const temporary_folder a, b;
  const auto text = changed(good_cluster, "slo_ms = 20", "slo_ms = 20\nsource = \"m.onnx\"");
  const auto hash_in = [&](const temporary_folder& f) {
    f.write("m.onnx", model("w.bin"));
    return read_cluster_text(text, "cluster.toml", f.path).spec.hash;
  };
  const auto without = hash_in(a);
  a.write("w.bin", "weights");
  b.write("w.bin", "weights");
  const auto hash = hash_in(a);
  CHECK(hash != without);
  CHECK(hash_in(b) == hash);
  b.write("w.bin", "weighty");
  CHECK(hash_in(b) != hash);
}

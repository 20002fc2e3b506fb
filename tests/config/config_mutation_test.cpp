// Example files with seeded damage: reading a file gives a cluster or problems with a position; an accepted
// file has the same meaning after a dump.
#include <algorithm>
#include <random>

#include "config/text_file.hpp"
#include "config/workload_file.hpp"
#include "tests/config/cluster_text.hpp"

using namespace troupe;

namespace {

class mutator {
 public:
  explicit mutator(uint64_t seed) : random_(seed) {}

  std::string damage(std::string text) {
    for (size_t n = 1 + below(3); n > 0; --n) damage_once(text);
    return text;
  }

 private:
  size_t below(size_t n) { return n ? random_() % n : 0; }

  void damage_once(std::string& text) {
    static constexpr std::string_view words[] = {
        "-1",           "0",           "1e308",      "nan",      "\"\"", "[]",      "{}",
        "[[node]]\n",   "[[model]]\n", "[[llm]]\n",  "\"head\"", "true", "\\u0000", "99999999999",
        "\"emulated\"", "\"cpu\"",     "1979-05-27", "=",        "\n",   "\"",      "#"};
    const size_t at = below(text.size());
    switch (below(5)) {
      case 0: text[at] = static_cast<char>(below(256)); break;
      case 1: text.erase(at, below(12)); break;
      case 2: text.insert(at, words[below(std::size(words))]); break;
      case 3: replace_value(text, words[below(std::size(words))]); break;
      default: move_line(text); break;
    }
  }

  void replace_value(std::string& text, std::string_view word) {
    const auto equals = text.find('=', below(text.size()));
    if (equals == std::string::npos) return;
    const auto end = text.find_first_of("\n#", equals);
    text.replace(equals + 1, (end == std::string::npos ? text.size() : end) - equals - 1, word);
  }

  void move_line(std::string& text) {
    const auto begin = text.find('\n', below(text.size()));
    if (begin == std::string::npos) return;
    const auto end = std::min(text.find('\n', begin + 1), text.size());
    const auto line = text.substr(begin, end - begin);
    if (below(2)) text.erase(begin, line.size());
    text.insert(below(text.size()), line);
  }

  std::mt19937_64 random_;
};

void check_problems(const std::vector<problem>& problems) {
  for (const auto& p : problems) {
    CHECK(!p.text.empty());
    CHECK(!p.where.file.empty());
    CHECK((p.where.line > 0 && p.where.column > 0));
  }
}

}  // namespace

TEST_CASE("a damaged cluster file is refused or gives a valid cluster") {
  const std::string folder = TROUPE_EXAMPLES "/emulated";
  auto text = read_text_file(folder + "/cluster.toml").content;
  REQUIRE(!text.empty());
  text += R"(
[[llm]]
name = "tasks"
model = ")" TROUPE_FIXTURES R"(/llama-tasks/base"
node = "gpus_b"
dtype = "f16"
block_tokens = 8
adapters = ")" TROUPE_FIXTURES R"(/llama-tasks/adapters"
adapter_slots = 2
adapter_api = true
engines_per_node = 3
instances = 1
min_instances = 0
max_instances = 2
cold_start_s = 5
[llm.scaling]
mode = "apply"
prefill_high = 0.8
scale_down_s = 1
[scaling]
copies = 1
chunk_kb = 1024
)";
  int accepted = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    const auto damaged = mutator{seed}.damage(text);
    const auto cluster = read_cluster_text(damaged, "cluster.toml", folder);
    check_problems(cluster.problems);
    ++(cluster.ok() ? accepted : refused);
    if (!cluster.ok()) continue;
    const auto again = read_cluster_text(to_toml(cluster.effective), "dump.toml", "/elsewhere");
    CHECK(listed(again.problems) == "");
    CHECK(again.spec.hash == cluster.spec.hash);
    CHECK(again.spec.slots.size() == cluster.spec.slots.size());
    CHECK(again.spec.llms.size() == cluster.spec.llms.size());
  }
  CHECK(accepted > 100);
  CHECK(refused > 1000);
}

TEST_CASE("a damaged workload file is refused or fits its cluster") {
  const std::string folder = TROUPE_EXAMPLES "/emulated";
  const auto cluster = read_cluster(folder + "/cluster.toml");
  REQUIRE(cluster.ok());
  const auto text = read_text_file(folder + "/workload.toml").content;
  int accepted = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    CAPTURE(seed);
    const auto w = read_workload_text(mutator{seed}.damage(text), "workload.toml", cluster.spec);
    check_problems(w.problems);
    ++(w.ok() ? accepted : refused);
    if (!w.ok()) continue;
    CHECK(w.spec.models.size() == cluster.spec.models.size());
    CHECK(std::is_sorted(w.spec.faults.begin(), w.spec.faults.end(),
                         [](const auto& a, const auto& b) { return a.at < b.at; }));
    for (const auto& f : w.spec.faults) CHECK(std::max(f.a, f.b).value < cluster.spec.nodes.size());
  }
  CHECK(accepted > 100);
  CHECK(refused > 1000);
}

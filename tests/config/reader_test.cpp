#include "config/reader.hpp"

#include <doctest/doctest.h>

#include <array>

#include "tests/config/cluster_text.hpp"

using namespace troupe;

TEST_CASE("values are read by type, with the unit that the key names") {
  reader in{"n = 3\nx = 2\ny = 0.5\nt = 'text'\ns = 1.5", "f"};
  auto& root = in.root();
  CHECK(root.integer("n", 1, 10) == 3);
  CHECK(root.number("x", "a number", 0, 10) == 2.0);
  CHECK(root.microseconds("y", 0, 10) == 500ns);
  CHECK(root.text("t") == "text");
  CHECK(root.seconds("s", 0, 10) == 1500ms);
  CHECK(root.milliseconds("absent", 0, 10, 2.5) == 2500us);
  CHECK(in.finish().empty());
}

TEST_CASE("reading goes on after a problem with a harmless value") {
  reader in{"n = 30\nc = 'blue'", "f"};
  constexpr std::array<std::string_view, 2> colours{"red", "green"};
  CHECK(in.root().integer("n", 1, 10) == 1);
  CHECK(in.root().integer("m", 1, 10) == 1);
  CHECK(in.root().choice("c", colours, 1) == 1);
  CHECK(in.root().text("t") == "");
  CHECK(listed(in.finish()) ==
        "f:1:1: m: is missing; it must be an integer in 1..10\n"
        "f:1:1: t: is missing; it must be a string\n"
        "f:1:5: n: must be an integer in 1..10, not 30\n"
        "f:2:5: c: must be one of \"red\", \"green\", not \"blue\"\n");
}

TEST_CASE("arrays of numbers are read whole or not at all") {
  reader in{"a = [1, 2.5]\nb = [1, 'x']\nc = [1, 200]\nd = 3", "f.toml"};
  auto& root = in.root();
  CHECK(root.numbers("a", "milliseconds", 0, 100) == std::vector<double>{1, 2.5});
  for (const auto* key : {"b", "c", "d", "absent"}) CHECK(root.numbers(key, "milliseconds", 0, 100).empty());
  const auto problems = in.finish();
  REQUIRE(problems.size() == 3);
  CHECK(to_string(problems[0]) ==
        "f.toml:2:9: b: holds \"x\"; it must be an array of milliseconds in 0..100");
  CHECK(to_string(problems[1]) == "f.toml:3:9: c: holds 200; it must be an array of milliseconds in 0..100");
  CHECK(to_string(problems[2]) == "f.toml:4:5: d: must be an array of milliseconds in 0..100, not 3");
  CHECK(to_toml(in.effective()).find("a = [1, 2.5]") != std::string::npos);
}

TEST_CASE("subtables are read alike however they are written") {
  for (const auto* text : {"a = { b = { n = 3 } }", "[a.b]\nn = 3", "a.b.n = 3", "[a]\n[a.b]\nn = 3"}) {
    CAPTURE(text);
    reader in{text, "f"};
    auto* a = in.root().table("a");
    REQUIRE(a);
    auto* b = a->table("b");
    REQUIRE(b);
    CHECK(b->integer("n", 1, 10) == 3);
    CHECK(listed(in.finish()) == "");
  }
}

TEST_CASE("an absent section has its defaults, and they are recorded") {
  reader in{"", "f"};
  CHECK(in.root().table_or_empty("limits").integer("n", 1, 10, 7) == 7);
  CHECK(in.finish().empty());
  CHECK(to_toml(in.effective()) == "\n[limits]\nn = 7  # default\n");
}

TEST_CASE("the record keeps every value with its origin, as TOML and as JSON") {
  reader in{"t = \"a\\tb\"\n[[m]]\nx = 0.25\n[[m]]\nx = 1e-7\nr = ['u']\n", "f"};
  constexpr std::array<std::string_view, 2> kinds{"u", "v"};
  CHECK(in.root().text("t") == "a\tb");
  for (auto* m : in.root().tables("m")) {
    m->number("x", "a number", 0, 1);
    m->choices("r", kinds, false);
  }
  CHECK(listed(in.finish()) == "");
  CHECK(to_toml(in.effective()) ==
        "t = \"a\\tb\"  # f:1:5\n"
        "\n[[m]]\nx = 0.25  # f:3:5\n"
        "\n[[m]]\nx = 1e-07  # f:5:5\nr = [\"u\"]  # f:6:5\n");
  CHECK(to_json(in.effective()) == R"({
  "t": {
    "value": "a\tb",
    "origin": "f:1:5"
  },
  "m": [
    {
      "x": {
        "value": 0.25,
        "origin": "f:3:5"
      }
    },
    {
      "x": {
        "value": 1e-07,
        "origin": "f:5:5"
      },
      "r": {
        "value": [
          "u"
        ],
        "origin": "f:6:5"
      }
    }
  ]
}
)");
  CHECK(meaning(in.effective()) == "t = \"a\\tb\"\nm {\nx = 0.25\n}\nm {\nx = 1e-07\nr = [\"u\"]\n}\n");
}

TEST_CASE("a syntax error is the only problem reported, because keys behind it are unknown") {
  reader in{"n = 3\nm = = 4", "f"};
  in.root().integer("n", 1, 2);
  const auto problems = in.finish();
  REQUIRE(problems.size() == 1);
  CHECK(to_string(problems[0]).starts_with("f:2:5: not valid TOML: "));
}

TEST_CASE("a key of many parts is refused, wherever it stands, and dots elsewhere are not counted") {
  std::string parts = "a";
  for (int i = 0; i < 100'000; ++i) parts += ".a";
  for (const std::string& text : {parts + " = 1", "[" + parts + "]", "x = { y = 1, " + parts + " = 2 }"}) {
    const auto problems = reader("\n" + text, "f").finish();
    REQUIRE(problems.size() == 1);
    CHECK(to_string(problems[0]).starts_with("f:2:"));
    CHECK(to_string(problems[0]).ends_with(": a key has more than 256 parts"));
  }
  const std::string dots(1000, '.');
  const auto fine = reader("x = \"" + dots + "\" # " + dots, "f").finish();
  REQUIRE(fine.size() == 1);
  CHECK(to_string(fine[0]) == "f:1:1: unknown key 'x'");
}

TEST_CASE("text that is not UTF-8 and endless nesting are refused") {
  for (const auto& text : {std::string{"a = '\xff'"}, std::string("a = ") + std::string(100'000, '[')}) {
    reader in{text, "f"};
    CHECK(in.finish().size() == 1);
  }
}

#include "actors/runtime/supervision.hpp"

#include <caf/all.hpp>
#include <future>

#include "actors/runtime/actor_of.hpp"
#include "tests/actors/caf_fixture.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

using notepad_protocol =
    caf::typed_actor<caf::replies_to<int>::with<std::string>, caf::reacts_to<std::string>>;

/// Returns the last note. Throws at 13 and at an empty note.
class notepad {
 public:
  using handle = notepad_protocol;
  static constexpr const char* name = "notepad";

  explicit notepad(handle::pointer) {}
  handle::behavior_type make_behavior() {
    return {survive_exceptions(this, &notepad::on_query), survive_exceptions(this, &notepad::on_note)};
  }
  void forget() { note_ = "forgotten"; }

 private:
  caf::result<std::string> on_query(int n) {
    if (n == 13) throw std::runtime_error("bad luck");
    return note_;
  }
  void on_note(const std::string& note) {
    if (note.empty()) throw std::invalid_argument("nothing to note");
    note_ = note;
  }
  std::string note_;
};

/// The notepad's answer, or "error".
std::string ask(caf::scoped_actor& self, const notepad_protocol& to, int n) {
  std::string out;
  self->request(to, std::chrono::seconds(10), n)
      .receive([&](const std::string& s) { out = s; }, [&](const caf::error&) { out = "error"; });
  return out;
}

}  // namespace

TEST_CASE("survive_exceptions: an actor that throws answers its queries as failed, and continues") {
  caf_fixture fixture;
  caf::scoped_actor self{fixture.system()};
  const auto actor = spawn<notepad>(fixture.system());
  const auto before = survived_exceptions();
  self->send(actor, std::string("hello"));
  CHECK(ask(self, actor, 1) == "hello");
  CHECK(ask(self, actor, 13) == "error");
  CHECK(ask(self, actor, 1) == "forgotten");
  self->send(actor, std::string());
  CHECK(ask(self, actor, 1) == "forgotten");
  CHECK(survived_exceptions() == before + 2);
  self->send_exit(actor, caf::exit_reason::kill);
}

TEST_CASE("report_exceptions: an actor that throws ends, with its name, the message and the reason") {
  caf_fixture fixture;
  std::promise<std::string> broken;
  const auto actor = fixture.system().spawn([&](caf::event_based_actor* self) -> caf::behavior {
    report_exceptions(*self, [&](std::string why) { broken.set_value(std::move(why)); });
    return {[](const cancel&) { throw std::runtime_error("no idea"); }};
  });
  caf::anon_send(actor, cancel{});
  const auto why = broken.get_future().get();
  CHECK(why.find("failed on") != std::string::npos);
  CHECK(why.find("cancel") != std::string::npos);
  CHECK(why.find("no idea") != std::string::npos);
  caf::scoped_actor self{fixture.system()};
  self->wait_for(actor);
}

// A guard ends a dead process's session on a real etcd: one session, once, and no other.
#include "runtime/guard/end_session.h"

#include <gtest/gtest.h>

#include <string>

#include "../../contract/keyspace_fixture.h"
#include "runtime/loop.h"

namespace baton::etcd {
namespace {

using runtime::SessionFound;

class EndSessionTest : public testing::LeadersTest {
 protected:
  SessionFound End(const SessionRef& dead, std::optional<TimePoint> known_since = std::nullopt) {
    const auto found =
        testing::Await<Result<SessionFound>>([&](std::function<void(Result<SessionFound>)> done) {
          loop_.Post([this, dead, known_since, done = std::move(done)] {
            runtime::EndSession({store().transport(), loop_, Clock::Real()}, keys,
                                {.session = dead, .known_since = known_since}, done);
          });
        });
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? found.value() : SessionFound::kGone;
  }

  std::optional<MemberFact> MemberNow(const std::string& node) {
    const auto read = store().Get(keys.MemberKey(node));
    if (read.kvs_size() == 0) return std::nullopt;
    return std::get<MemberFact>(*keys.Decode(read.kvs(0)).fact);
  }
  DeathFact DeathNow() {
    const auto read = store().Get(keys.DeathKey());
    return read.kvs_size() == 0 ? DeathFact{} : std::get<DeathFact>(*keys.Decode(read.kvs(0)).fact);
  }

 private:
  runtime::Loop loop_;
};

// Plan: the member key goes and `died` names the session, in one revision. The lease is gone, so a
// second look finds nothing.
TEST_F(EndSessionTest, DeletesTheKeyAndNamesTheDeath) {
  const SessionGuard dead = Join("n1");
  const Revision before = Now();
  EXPECT_EQ(End({"n1", dead.session}), SessionFound::kHeld);
  EXPECT_FALSE(MemberNow("n1"));
  EXPECT_EQ(DeathNow().node, "n1");
  EXPECT_EQ(DeathNow().session, dead.session);
  EXPECT_EQ(DeathNow().revision.value, before.value + 1) << "one transaction";
  EXPECT_EQ(Now().value, before.value + 1) << "the lease had no key any more";
  EXPECT_EQ(End({"n1", dead.session}), SessionFound::kGone);
  EXPECT_EQ(DeathNow().revision.value, before.value + 1) << "it is named once";
}

// Plan: the guard waited for two deaths, one of which it knows for an hour, and it does not know
// how long the third process has been dead. Each record says how long the guard had known.
TEST_F(EndSessionTest, SaysHowLongItKnewOfTheDeath) {
  const auto detect_of = [&](const std::string& node, std::optional<TimePoint> known_since) {
    EXPECT_EQ(End({node, Join(node).session}, known_since), SessionFound::kHeld);
    EXPECT_EQ(DeathNow().node, node);
    return DeathNow().detect;
  };
  const TimePoint begun = Clock::Real().Now();
  const auto brief = detect_of("n1", begun);
  ASSERT_TRUE(brief);
  EXPECT_LE(*brief, Clock::Real().Now() - begun);
  const auto hour = detect_of("n2", begun - std::chrono::hours(1));
  ASSERT_TRUE(hour);
  EXPECT_GE(*hour, std::chrono::hours(1));
  EXPECT_FALSE(detect_of("n3", std::nullopt));
}

// Plan: the node's next process has the key already. Its session stays.
TEST_F(EndSessionTest, LeavesTheNextSessionAlone) {
  const SessionGuard dead = Join("n1");
  store().Revoke(dead.session);
  const SessionGuard next = Join("n1");
  EXPECT_EQ(End({"n1", dead.session}), SessionFound::kGone);
  EXPECT_TRUE(Confirm(next).passed);
  EXPECT_FALSE(DeathNow().present);
}

// Plan: the process died after it had sent the write that puts its member key. The write arrives
// after the guard's: its lease is gone, so it puts nothing.
TEST_F(EndSessionTest, AWriteThatArrivesLatePutsNoKey) {
  const SessionId lease = NewSession();
  EXPECT_EQ(End({"n1", lease}), SessionFound::kGone);
  EXPECT_NE(Execute(MemberCreate{MemberOf("n1", lease)}).outcome, Outcome::kDone);
  EXPECT_FALSE(MemberNow("n1"));
}

// Plan: a forged lock file of "n1" names the session of a living member, and then a lease on which
// another application has a key. Neither is ended.
TEST_F(EndSessionTest, AnotherOwnersLeaseIsLeftAlone) {
  const SessionGuard alive = Join("n2");
  EXPECT_EQ(End({"n1", alive.session}), SessionFound::kGone);
  EXPECT_TRUE(Confirm(alive).passed);

  const SessionId foreign = NewSession();
  etcdserverpb::TxnRequest put;
  put.add_success()->mutable_request_put()->set_key("/other/application");
  put.mutable_success(0)->mutable_request_put()->set_lease(foreign.value);
  store().Txn(put);
  EXPECT_EQ(End({"n1", foreign}), SessionFound::kGone);
  EXPECT_EQ(store().Get("/other/application").kvs_size(), 1);
}

}  // namespace
}  // namespace baton::etcd

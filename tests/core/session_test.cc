// The session alone: what moves its deadline, and what ends it.
#include "core/session.h"

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    options_.shards = 4;
    options_.self.node = "n1";
    options_.random = [this] { return ++random_ << 8; };
    Snapshot empty;
    empty.revision = Revision{10};
    view_.Merge(empty, now_);
  }

  std::vector<Action> Advance() {
    std::vector<Action> actions;
    wake_at_ = TimePoint::max();
    session_.Advance(now_, view_, actions, wake_at_);
    return actions;
  }
  template <typename T>
  std::optional<T> Find(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      if (const T* found = std::get_if<T>(&action)) return *found;
    }
    return std::nullopt;
  }
  // The key as etcd would have it after our put at `revision`.
  void AnswerPut(const SubmitWrite& put, Revision revision) {
    const auto* create = std::get_if<MemberCreate>(put.write.get());
    MemberFact stored =
        create != nullptr ? create->member : std::get<MemberTakeover>(*put.write).member;
    stored.present = true;
    stored.lease = stored.session;
    stored.revision = stored.create_revision = revision;
    const WriteResult result{.outcome = Outcome::kDone,
                             .items = {Outcome::kDone},
                             .revision = revision,
                             .read_back = {stored},
                             .detail = ""};
    view_.Merge(result.read_back, now_);
    session_.On(WriteAnswered{put.operation, result}, now_);
  }
  void Join() {
    const auto grant = Find<GrantLease>(Advance());
    ASSERT_TRUE(grant);
    session_.On(LeaseGranted{grant->operation, Outcome::kDone, seconds(10), ""}, now_);
    const auto put = Find<SubmitWrite>(Advance());
    ASSERT_TRUE(put);
    AnswerPut(*put, Revision{20});
    ASSERT_TRUE(session_.member());
  }
  SendKeepAlive Send() {
    const auto send = Find<SendKeepAlive>(Advance());
    EXPECT_TRUE(send);
    return send.value_or(SendKeepAlive{});
  }
  void Answer(const SendKeepAlive& send, std::uint64_t raft_term) {
    session_.On(KeepAliveAnswered{send.operation, seconds(10), raft_term}, now_);
  }
  ConfirmSession AskedToConfirm() {
    const auto confirm = Find<ConfirmSession>(Advance());
    EXPECT_TRUE(confirm);
    return confirm.value_or(ConfirmSession{});
  }
  void Confirm(const ConfirmSession& confirm, std::uint64_t raft_term, bool passed = true) {
    session_.On(ConfirmAnswered{.operation = confirm.operation,
                                .outcome = Outcome::kDone,
                                .passed = passed,
                                .revision = Revision{30},
                                .raft_term = raft_term,
                                .read_back = {}},
                now_);
  }
  void Renew(std::uint64_t raft_term) {
    Answer(Send(), raft_term);
    Confirm(AskedToConfirm(), raft_term);
  }
  void Occupy(SessionId session, bool external = false, std::string address = "elsewhere:1") {
    MemberFact occupant;
    occupant.node = "n1";
    occupant.present = true;
    occupant.lease = occupant.session = session;
    occupant.revision = occupant.create_revision = Revision{15};
    occupant.ttl = seconds(10);
    occupant.external = external;
    occupant.address = std::move(address);
    occupant.unknown_fields = "what a later version can do";
    view_.Merge({Fact(occupant)}, now_);
  }

  // A read finds our member key as it is known.
  void ReadAgain() {
    view_.Merge(Snapshot{.revision = Revision{16}, .facts = {Fact(*view_.member("n1"))}}, now_);
  }

  std::uint64_t random_ = 1;
  OperationId next_ = 1;
  CoreOptions options_;
  TimePoint now_{seconds(1000)};
  View view_{4, "n1"};
  Session session_{options_, &next_};
  TimePoint wake_at_;
};

// Plan: the lease is granted and the key put, but no keepalive was answered: there is no deadline.
TEST_F(SessionTest, AGrantSetsNoDeadline) {
  Join();
  EXPECT_EQ(session_.deadline(), TimePoint::min());
  EXPECT_FALSE(session_.live(now_));
}

// Plan: a stuck leader answers OK; without a commit after that the deadline does not move.
TEST_F(SessionTest, AKeepAliveAloneProvesNothing) {
  Join();
  Answer(Send(), 7);
  EXPECT_EQ(session_.deadline(), TimePoint::min());
  Confirm(AskedToConfirm(), 7);
  EXPECT_TRUE(session_.live(now_));
}

// Plan: a renewal is sent at t0, and answered and confirmed seconds later: the TTL counts from t0,
// less the margin.
TEST_F(SessionTest, TheDeadlineCountsFromTheSending) {
  Join();
  const TimePoint sent = now_;
  const SendKeepAlive send = Send();
  now_ += milliseconds(900);
  Answer(send, 7);
  const ConfirmSession confirm = AskedToConfirm();
  now_ += milliseconds(900);
  Confirm(confirm, 7);
  EXPECT_EQ(session_.deadline(), sent + seconds(10) - Margin(seconds(10)));
}

// Plan: the answer came from raft term 7, the commit from 8: the new leader does not know that
// renewal.
TEST_F(SessionTest, AConfirmationInAnotherRaftTermDoesNotCount) {
  Join();
  Answer(Send(), 7);
  Confirm(AskedToConfirm(), 8);
  EXPECT_EQ(session_.deadline(), TimePoint::min());
}

// Plan: term 8 was seen. An answer of term 7 comes from a member that has not noticed the new
// leader. Its confirmation commits in term 8, so the deadline stays, and the next keepalive goes to
// another member.
TEST_F(SessionTest, AnAnswerOfAnOlderRaftTermProvesNothingAndCostsItsStream) {
  Join();
  Renew(8);
  const TimePoint deadline = session_.deadline();
  now_ += seconds(4);
  Answer(Send(), 7);
  Confirm(AskedToConfirm(), 8);
  EXPECT_EQ(session_.deadline(), deadline);
  now_ += milliseconds(50);
  EXPECT_TRUE(Send().fresh_stream);
}

// Plan: an etcd in raft term 8 is wiped or restored while the node runs, and begins again in
// term 2. Renewals are confirmed there: nothing of the earlier etcd's terms stays in their way.
TEST_F(SessionTest, RenewsInAnEtcdThatBeginsItsRaftTermsAgain) {
  Join();
  Renew(8);
  now_ += seconds(4);
  const TimePoint sent = now_;
  Renew(2);
  EXPECT_EQ(session_.deadline(), sent + seconds(10) - Margin(seconds(10)));
}

// Plan: no commit is answered for three TTLs. Keepalives go on at a third of the TTL, so that etcd
// keeps the lease. The first commit after that counts for the newest answer that came before it was
// sent, and not for a later one.
TEST_F(SessionTest, KeepsTheLeaseAliveWhileCommitsStall) {
  Join();
  std::vector<TimePoint> sent;
  std::vector<ConfirmSession> confirms;
  std::vector<TimePoint> confirmed_from;
  const TimePoint end = now_ + seconds(30);
  while (now_ < end) {
    for (const Action& action : Advance()) {
      if (const auto* keepalive = std::get_if<SendKeepAlive>(&action)) {
        sent.push_back(now_);
        Answer(*keepalive, 7);
      } else if (const auto* confirm = std::get_if<ConfirmSession>(&action)) {
        confirms.push_back(*confirm);
        confirmed_from.push_back(sent.back());
      }
    }
    now_ += milliseconds(100);
  }
  ASSERT_EQ(sent.size(), 9u) << "one each third of the TTL, on the next tick of 100 ms";
  EXPECT_FALSE(session_.live(now_));
  ASSERT_EQ(confirms.size(), 2u) << "both are unanswered";
  EXPECT_FALSE(confirms.front().elsewhere);
  EXPECT_TRUE(confirms.back().elsewhere);
  Confirm(confirms.back(), 7);
  EXPECT_EQ(session_.deadline(), confirmed_from.back() + seconds(10) - Margin(seconds(10)));
}

// Plan: a member of etcd hangs. After a sixth of the TTL a second confirmation goes elsewhere, and
// its answer counts; the first one's answer comes late and changes nothing.
TEST_F(SessionTest, AConfirmationThatHangsIsSentElsewhere) {
  Join();
  const TimePoint sent = now_;
  Answer(Send(), 7);
  const ConfirmSession first = AskedToConfirm();
  EXPECT_FALSE(first.elsewhere);
  EXPECT_FALSE(Find<ConfirmSession>(Advance()));
  now_ = sent + Duration(seconds(10)) / 6;
  const ConfirmSession second = AskedToConfirm();
  EXPECT_TRUE(second.elsewhere);
  Confirm(second, 7);
  EXPECT_EQ(session_.deadline(), sent + seconds(10) - Margin(seconds(10)));
  Confirm(first, 6);
  EXPECT_EQ(session_.counters().confirmed, 1u);
  EXPECT_EQ(session_.counters().failed, 0u);
}

// Plan: a confirmation is refused a commit in the answer's raft term, but by then an answer of the
// new term is there: it is confirmed, and its stream stays.
TEST_F(SessionTest, AnAnswerOfTheNewRaftTermOutlivesAnOldOnesConfirmation) {
  Join();
  Answer(Send(), 7);
  const ConfirmSession first = AskedToConfirm();
  now_ += seconds(4);
  const TimePoint sent = now_;
  Answer(Send(), 8);  // the first is sent again meanwhile
  Confirm(first, 8);
  Confirm(AskedToConfirm(), 8);
  EXPECT_EQ(session_.deadline(), sent + seconds(10) - Margin(seconds(10)));
  now_ += seconds(4);
  EXPECT_FALSE(Send().fresh_stream);
}

// Plan: an etcd in raft term 8 is wiped, and begins again in term 2 without the member key: the
// confirmation says so.
TEST_F(SessionTest, IsLostInAnEtcdThatWasWiped) {
  Join();
  Renew(8);
  now_ += seconds(4);
  session_.On(KeepAliveAnswered{Send().operation, seconds(0), 2}, now_);
  Confirm(AskedToConfirm(), 2, false);
  EXPECT_TRUE(session_.LostBy(view_));
}

// Plan: the only member that can be reached never counts. The tries back off, up to a sixth of the
// TTL.
TEST_F(SessionTest, RenewalsThatProveNothingBackOff) {
  Join();
  std::vector<Duration> pauses;
  for (int i = 0; i < 8; ++i) {
    Answer(Send(), 7);
    Confirm(AskedToConfirm(), 8);
    EXPECT_FALSE(Find<SendKeepAlive>(Advance()));
    pauses.push_back(wake_at_ - now_);
    now_ = wake_at_;
  }
  EXPECT_EQ(pauses.front(), kMinRetryPause);
  EXPECT_EQ(pauses.back(), Duration(seconds(10)) / 6);
}

// Plan: while one is unanswered none is sent. After its timeout the next goes out on a fresh
// stream, and the late answer to the first is ignored.
TEST_F(SessionTest, OneKeepAliveIsUnansweredAndALateOneEndsItsStream) {
  Join();
  const SendKeepAlive first = Send();
  now_ += milliseconds(1000);
  EXPECT_FALSE(Find<SendKeepAlive>(Advance()));
  now_ += milliseconds(1000);
  const SendKeepAlive second = Send();
  EXPECT_TRUE(second.fresh_stream);
  EXPECT_FALSE(session_.On(KeepAliveAnswered{first.operation, seconds(10), 7}, now_));
  EXPECT_FALSE(Find<ConfirmSession>(Advance()));
}

// Plan: the end of a stream is reported after the next one began: it does not end that one too.
TEST_F(SessionTest, AnEarlierStreamsEndLeavesThePresentOne) {
  Join();
  const SendKeepAlive first = Send();
  now_ += seconds(2);
  Answer(Send(), 7);
  session_.On(KeepAliveEnded{first.operation}, now_);
  Confirm(AskedToConfirm(), 7);
  now_ += seconds(4);
  EXPECT_FALSE(Send().fresh_stream);
}

// Plan: the confirmation finds our key gone: the session is lost at once, whatever the deadline.
TEST_F(SessionTest, AFailedConfirmationLosesTheSession) {
  Join();
  Answer(Send(), 7);
  Confirm(AskedToConfirm(), 7, false);
  EXPECT_TRUE(session_.LostBy(view_));
}

// Plan: the key is seen missing, then again with the same lease (a late copy of our put). The
// session stays lost: its lease is revoked first, and the next session has another.
TEST_F(SessionTest, ASessionSeenMissingIsLostForEver) {
  Join();
  const SessionId lost = session_.id();
  MemberFact gone;
  gone.node = "n1";
  gone.revision = Revision{40};
  view_.Merge({Fact(gone)}, now_);
  ASSERT_TRUE(session_.LostBy(view_));
  session_.Lose(now_);
  Occupy(lost);
  std::vector<Action> actions = Advance();
  const auto revoke = Find<RevokeLease>(actions);
  ASSERT_TRUE(revoke);
  EXPECT_EQ(revoke->lease, lost);
  now_ += seconds(1);
  EXPECT_FALSE(Find<GrantLease>(Advance())) << "the lost lease is not settled yet";
  session_.On(LeaseRevoked{revoke->operation, Outcome::kDone}, now_);
  const auto grant = Find<GrantLease>(Advance());
  ASSERT_TRUE(grant);
  EXPECT_NE(grant->lease, lost);
  session_.On(LeaseGranted{grant->operation, Outcome::kDone, seconds(10), ""}, now_);
  const auto put = Find<SubmitWrite>(Advance());
  ASSERT_TRUE(put);
  EXPECT_EQ(std::get<MemberCreate>(*put->write).member.session, grant->lease);
}

// Plan: etcd refuses the grant. Another lease is requested, and the refused id is never used again.
TEST_F(SessionTest, ARefusedGrantIsFollowedByAnotherLease) {
  const auto refused = Find<GrantLease>(Advance());
  ASSERT_TRUE(refused);
  session_.On(LeaseGranted{refused->operation, Outcome::kRefused, seconds(0), "refused"}, now_);
  const auto revoke = Find<RevokeLease>(Advance());
  ASSERT_TRUE(revoke);
  EXPECT_EQ(revoke->lease, refused->lease);
  session_.On(LeaseRevoked{revoke->operation, Outcome::kDone}, now_);
  now_ += seconds(1);
  const auto grant = Find<GrantLease>(Advance());
  ASSERT_TRUE(grant);
  EXPECT_NE(grant->lease, refused->lease);
  session_.On(LeaseGranted{refused->operation, Outcome::kDone, seconds(10), "late"}, now_);
  EXPECT_FALSE(Find<SubmitWrite>(Advance())) << "the answer to the refused operation is ignored";
}

// Plan: etcd refuses grants and keys in turn. Each try waits twice as long as the one before, 2 s
// at most; after a session was opened, a refusal costs 50 ms again.
TEST_F(SessionTest, EachRefusalInARowIsWaitedForLonger) {
  const auto refuse = [this](bool key) {
    const auto grant = Find<GrantLease>(Advance());
    ASSERT_TRUE(grant);
    session_.On(LeaseGranted{grant->operation, key ? Outcome::kDone : Outcome::kRefused,
                             seconds(10), "refused"},
                now_);
    if (key) {
      const auto put = Find<SubmitWrite>(Advance());
      ASSERT_TRUE(put);
      session_.On(WriteAnswered{put->operation, WriteResult{.outcome = Outcome::kRefused}}, now_);
    }
    const auto revoke = Find<RevokeLease>(Advance());
    ASSERT_TRUE(revoke);
    session_.On(LeaseRevoked{revoke->operation, Outcome::kDone}, now_);
  };
  const auto waited = [this] {
    EXPECT_FALSE(Find<GrantLease>(Advance()));
    const Duration waits = wake_at_ - now_;
    now_ = wake_at_;
    return waits;
  };
  bool key = false;
  for (const int expected : {50, 100, 200, 400, 800, 1600, 2000, 2000}) {
    refuse(key);
    EXPECT_EQ(waited(), milliseconds(expected));
    key = !key;
  }
  Join();
  MemberFact gone;
  gone.node = "n1";
  gone.revision = Revision{40};
  view_.Merge({Fact(gone)}, now_);
  session_.Lose(now_);
  const auto revoke = Find<RevokeLease>(Advance());
  ASSERT_TRUE(revoke);
  session_.On(LeaseRevoked{revoke->operation, Outcome::kDone}, now_);
  EXPECT_EQ(waited(), milliseconds(50));
  refuse(false);
  EXPECT_EQ(waited(), milliseconds(50));
}

// Plan: the key names the very session that the state directory proves dead. The node takes the key
// over, guarded by its mod revision, and then revokes the old lease. Of a predecessor of a later
// version it copies nothing: the record says what this process can do.
TEST_F(SessionTest, TakesOverWhatIsProvenDead) {
  options_.proven_dead = {SessionId{77}};
  Occupy(SessionId{77});
  const auto grant = Find<GrantLease>(Advance());
  ASSERT_TRUE(grant);
  session_.On(LeaseGranted{grant->operation, Outcome::kDone, seconds(10), ""}, now_);
  const std::vector<Action> actions = Advance();
  EXPECT_TRUE(Find<RecordSession>(actions)) << "before the key is put";
  const auto put = Find<SubmitWrite>(actions);
  ASSERT_TRUE(put);
  ASSERT_TRUE(std::holds_alternative<MemberTakeover>(*put->write));
  EXPECT_EQ(std::get<MemberTakeover>(*put->write).read, Revision{15});
  EXPECT_EQ(std::get<MemberTakeover>(*put->write).member.unknown_fields, "");
  AnswerPut(*put, Revision{20});
  const auto revoke = Find<RevokeLease>(Advance());
  ASSERT_TRUE(revoke);
  EXPECT_EQ(revoke->lease, SessionId{77});
}

// Plan: two processes died, the second before it had the member key. The key still names the first
// one's session, which the state directory proves dead, too. The node takes it over, revokes that
// lease, and its record names both.
TEST_F(SessionTest, TakesOverTheSessionBeforeTheLastOne) {
  options_.proven_dead = {SessionId{78}, SessionId{77}};
  Occupy(SessionId{77});
  const auto grant = Find<GrantLease>(Advance());
  ASSERT_TRUE(grant);
  session_.On(LeaseGranted{grant->operation, Outcome::kDone, seconds(10), ""}, now_);
  const std::vector<Action> actions = Advance();
  const auto record = Find<RecordSession>(actions);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->replaces, SessionId{77});
  const auto put = Find<SubmitWrite>(actions);
  ASSERT_TRUE(put);
  ASSERT_TRUE(std::holds_alternative<MemberTakeover>(*put->write));
  AnswerPut(*put, Revision{20});
  const auto revoke = Find<RevokeLease>(Advance());
  ASSERT_TRUE(revoke);
  EXPECT_EQ(revoke->lease, SessionId{77});
}

// Plan: somebody has put the node's key without a lease, with fields that this version doesn't
// know. It is no session: the node replaces it, guarded by its mod revision, says only what it can
// do itself, and revokes nothing.
TEST_F(SessionTest, ReplacesAKeyWithoutALease) {
  MemberFact put_by_hand;
  put_by_hand.node = "n1";
  put_by_hand.present = true;
  put_by_hand.revision = put_by_hand.create_revision = Revision{15};
  put_by_hand.unknown_fields = "a later version's";
  view_.Merge({Fact(put_by_hand)}, now_);
  const auto grant = Find<GrantLease>(Advance());
  ASSERT_TRUE(grant);
  session_.On(LeaseGranted{grant->operation, Outcome::kDone, seconds(10), ""}, now_);
  const auto put = Find<SubmitWrite>(Advance());
  ASSERT_TRUE(put);
  ASSERT_TRUE(std::holds_alternative<MemberTakeover>(*put->write));
  EXPECT_EQ(std::get<MemberTakeover>(*put->write).read, Revision{15});
  EXPECT_EQ(std::get<MemberTakeover>(*put->write).member.unknown_fields, "");
  AnswerPut(*put, Revision{20});
  EXPECT_TRUE(session_.member());
  EXPECT_FALSE(Find<RevokeLease>(Advance()));
}

// Plan: no proof, a proof of another session, or an external predecessor: the node waits.
TEST_F(SessionTest, WaitsWhereThereIsNoProof) {
  Occupy(SessionId{77});
  EXPECT_FALSE(Find<GrantLease>(Advance()));
  options_.proven_dead = {SessionId{78}};
  EXPECT_FALSE(Find<GrantLease>(Advance()));
}
TEST_F(SessionTest, WaitsWhereTheValueNamesAnotherSessionThanTheLease) {
  options_.proven_dead = {SessionId{77}};
  Occupy(SessionId{77});
  MemberFact contradictory = *view_.member("n1");
  contradictory.session = SessionId{78};
  contradictory.revision = Revision{16};
  view_.Merge({Fact(contradictory)}, now_);
  EXPECT_FALSE(Find<GrantLease>(Advance()));
}
TEST_F(SessionTest, WaitsForAnExternalSession) {
  options_.proven_dead = {SessionId{77}};
  Occupy(SessionId{77}, true);
  EXPECT_FALSE(Find<GrantLease>(Advance()));
}

// Plan: somebody renews the key of our name for longer than a lease can explain. Reads find it
// alive every TTL, and after two leases + 3 s it is another node's.
TEST_F(SessionTest, RefusesANodeIdInUse) {
  Occupy(SessionId{77});
  const auto notice = Find<Notice>(Advance());
  ASSERT_TRUE(notice);
  EXPECT_NE(notice->text.find("held by the node at 'elsewhere:1'"), std::string::npos);
  for (int reads = 1; reads <= 2; ++reads) {
    now_ += seconds(10);
    ReadAgain();
    EXPECT_FALSE(Find<Notice>(Advance())) << "the warning comes once";
    EXPECT_FALSE(session_.refused());
  }
  now_ += seconds(5);
  Advance();
  EXPECT_FALSE(session_.refused()) << "no read since";
  EXPECT_EQ(wake_at_, TimePoint::max()) << "it waits for the next read";
  ReadAgain();
  Advance();
  ASSERT_TRUE(session_.refused());
  EXPECT_NE(session_.refused()->message.find("node id 'n1' is in use"), std::string::npos);
}

// Plan: the key's value names no address: the messages don't pretend that there is one.
TEST_F(SessionTest, NamesNoAddressWhereTheKeyHasNone) {
  Occupy(SessionId{77}, false, "");
  const auto notice = Find<Notice>(Advance());
  ASSERT_TRUE(notice);
  EXPECT_EQ(
      notice->text,
      "the member key of 'n1' is held by another session; waiting for its lease to expire; if "
      "that process is to stay, give this one another node id");
  MemberFact renewed = *view_.member("n1");
  renewed.lease = renewed.session = SessionId{78};
  renewed.revision = Revision{17};
  view_.Merge({Fact(renewed)}, now_);
  Advance();
  ASSERT_TRUE(session_.refused());
  EXPECT_EQ(session_.refused()->message,
            "node id 'n1' is in use by another live node; node ids must be unique in a group: give "
            "this node another one, or stop the other");
}

// Plan: etcd is away for a minute; its next leader gave our predecessor's lease its full TTL again.
// The wait starts again, and the key goes in time.
TEST_F(SessionTest, AnOutageOfEtcdMakesNoNodeIdInUse) {
  Occupy(SessionId{77});
  Advance();
  now_ += seconds(60);
  ReadAgain();
  Advance();
  EXPECT_FALSE(session_.refused());
  now_ += seconds(10);
  view_.Merge(Snapshot{.revision = Revision{17}, .facts = {}}, now_);
  EXPECT_TRUE(Find<GrantLease>(Advance()));
}

}  // namespace
}  // namespace baton::core

// The model of etcd by itself: what etcd's documents promise, and the faults of 3.4.23.
#include "sim/etcd_model.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace baton::sim {
namespace {

constexpr Duration kSoon = milliseconds(50);

pb::Compare ModIs(const std::string& key, std::int64_t revision) {
  pb::Compare compare;
  compare.set_key(key);
  compare.set_target(pb::Compare::MOD);
  compare.set_mod_revision(revision);
  return compare;
}

pb::RequestOp PutOf(const std::string& key, const std::string& value, std::int64_t lease = 0) {
  pb::RequestOp operation;
  operation.mutable_request_put()->set_key(key);
  operation.mutable_request_put()->set_value(value);
  operation.mutable_request_put()->set_lease(lease);
  return operation;
}

pb::RequestOp RangeOf(const std::string& key) {
  pb::RequestOp operation;
  operation.mutable_request_range()->set_key(key);
  return operation;
}

pb::RequestOp DeleteOf(const std::string& key) {
  pb::RequestOp operation;
  operation.mutable_request_delete_range()->set_key(key);
  return operation;
}

class EtcdModelTest : public ::testing::Test {
 protected:
  explicit EtcdModelTest(Personality personality = Personality::kDocumented)
      : etcd_(world_, {.personality = personality}) {}

  void Run(Duration length) { world_.RunUntil(world_.now() + length); }

  template <typename Response>
  using Answer = std::optional<std::pair<Failure, Response>>;

  Answer<pb::TxnResponse> Txn(const pb::TxnRequest& request, int member = 0,
                              Duration wait = kSoon) {
    Answer<pb::TxnResponse> answer;
    etcd_.Txn(member, std::make_shared<const pb::TxnRequest>(request), 7,
              [&](const Failure& failure, const pb::TxnResponse& response) {
                answer.emplace(failure, response);
              });
    Run(wait);
    return answer;
  }
  std::int64_t Put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
    pb::TxnRequest request;
    *request.add_success() = PutOf(key, value, lease);
    const auto answer = Txn(request);
    return answer && answer->first.none() ? answer->second.header().revision() : 0;
  }
  void Delete(const std::string& key) {
    pb::TxnRequest request;
    *request.add_success() = DeleteOf(key);
    Txn(request);
  }
  Answer<pb::RangeResponse> Range(const pb::RangeRequest& request, int member = 0) {
    Answer<pb::RangeResponse> answer;
    etcd_.Range(member, request, [&](const Failure& failure, const pb::RangeResponse& response) {
      answer.emplace(failure, response);
    });
    Run(kSoon);
    return answer;
  }
  std::int64_t Grant(std::int64_t id, std::int64_t ttl) {
    std::int64_t granted = 0;
    pb::LeaseGrantRequest request;
    request.set_id(id);
    request.set_ttl(ttl);
    etcd_.Grant(0, request, 7, [&](const Failure& failure, const pb::LeaseGrantResponse& response) {
      granted = failure.none() ? response.ttl() : -failure.code;
    });
    Run(kSoon);
    return granted;
  }
  /// The TTL answered; -1: no answer.
  std::int64_t KeepAlive(std::int64_t id, int member) {
    std::int64_t ttl = -1;
    etcd_.KeepAlive(member, id,
                    [&](const pb::LeaseKeepAliveResponse& response) { ttl = response.ttl(); });
    Run(milliseconds(2));
    return ttl;
  }
  struct Seen {
    std::vector<pb::WatchResponse> messages;
    std::vector<std::string> Events() const {
      std::vector<std::string> events;
      for (const auto& message : messages) {
        for (const auto& event : message.events()) {
          const char* sign = event.type() == pb::Event::DELETE ? "-" : "+";
          events.push_back(sign + event.kv().key() + "@" +
                           std::to_string(event.kv().mod_revision()));
        }
      }
      return events;
    }
  };
  WatchId Watch(Seen& seen, std::int64_t from, int member = 0) {
    pb::WatchCreateRequest request;
    request.set_key("a");
    request.set_range_end("z");
    request.set_start_revision(from);
    return etcd_.Watch(member, request, [&seen](const pb::WatchResponse& response) {
      seen.messages.push_back(response);
    });
  }

  World world_{1, false};
  EtcdModel etcd_;
};

class OldEtcdTest : public EtcdModelTest {
 protected:
  OldEtcdTest() : EtcdModelTest(Personality::k3423) {}
};

// Plan: two puts of one key, then its deletion and another put: revisions, versions, creation.
TEST_F(EtcdModelTest, AKeyKeepsItsCreationUntilItIsDeleted) {
  EXPECT_EQ(Put("k", "1"), 2);
  EXPECT_EQ(Put("k", "2"), 3);
  EXPECT_EQ(etcd_.store().Get("k")->create_revision(), 2);
  EXPECT_EQ(etcd_.store().Get("k")->version(), 2);
  Delete("k");
  EXPECT_EQ(etcd_.store().Get("k"), nullptr);
  EXPECT_EQ(Put("k", "3"), 5);
  EXPECT_EQ(etcd_.store().Get("k")->create_revision(), 5);
  EXPECT_EQ(etcd_.store().Get("k")->version(), 1);
}

// Plan: delete a missing key, as a confirmation does.
TEST_F(EtcdModelTest, DeletingNothingIsACommitWithoutARevision) {
  Put("k", "1");
  pb::TxnRequest request;
  *request.add_success() = DeleteOf("nothing");
  const auto answer = Txn(request);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->second.header().revision(), 2);
  EXPECT_EQ(answer->second.responses(0).response_delete_range().deleted(), 0);
}

// Plan: the outer transaction changes the key that the nested one compares; the range after the put
// reads what was put.
TEST_F(EtcdModelTest, NestedComparesLookAtTheStateBeforeAndRangesAtTheStateWithin) {
  Put("k", "1");
  pb::TxnRequest request;
  *request.add_success() = PutOf("k", "2");
  *request.add_success() = RangeOf("k");
  auto* nested = request.add_success()->mutable_request_txn();
  *nested->add_compare() = ModIs("k", 2);
  *nested->add_success() = PutOf("n", "yes");
  *nested->add_failure() = PutOf("n", "no");
  const auto answer = Txn(request);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->second.responses(1).response_range().kvs(0).value(), "2");
  EXPECT_TRUE(answer->second.responses(2).response_txn().succeeded());
  EXPECT_EQ(etcd_.store().Get("n")->value(), "yes");
  EXPECT_EQ(etcd_.store().Get("n")->mod_revision(), 3);  // one revision for all
}

// Plan: the guards that Baton uses, on an absent key: every number is 0.
TEST_F(EtcdModelTest, AnAbsentKeyComparesAsZero) {
  pb::TxnRequest request;
  *request.add_compare() = ModIs("k", 0);
  pb::Compare& lease = *request.add_compare();
  lease.set_key("k");
  lease.set_target(pb::Compare::LEASE);
  lease.set_result(pb::Compare::NOT_EQUAL);
  lease.set_lease(5);
  pb::Compare& create = *request.add_compare();
  create.set_key("k");
  create.set_target(pb::Compare::CREATE);
  create.set_create_revision(0);
  *request.add_success() = PutOf("k", "1");
  EXPECT_TRUE(Txn(request)->second.succeeded());
  EXPECT_FALSE(Txn(request)->second.succeeded());
}

// Plan: "no member was written after revision r", with members of revisions 2 and 3, and without
// any; a deletion is no write of a key that is there.
TEST_F(EtcdModelTest, ARangeComparesEachOfItsKeysAndWithoutKeysAsZero) {
  const auto unless_after = [&](std::int64_t revision) {
    pb::TxnRequest request;
    pb::Compare& compare = *request.add_compare();
    compare.set_key("m/");
    compare.set_range_end("m0");
    compare.set_target(pb::Compare::MOD);
    compare.set_result(pb::Compare::LESS);
    compare.set_mod_revision(revision + 1);
    return Txn(request)->second.succeeded();
  };
  EXPECT_TRUE(unless_after(0));
  for (const char* key : {"m/1", "m/2", "m0"}) {
    pb::TxnRequest put;
    *put.add_success() = PutOf(key, "1");
    Txn(put);
  }
  EXPECT_FALSE(unless_after(0));
  EXPECT_FALSE(unless_after(2));
  EXPECT_TRUE(unless_after(3));
  pb::TxnRequest removal;
  removal.add_success()->mutable_request_delete_range()->set_key("m/2");
  Txn(removal);
  EXPECT_TRUE(unless_after(2));
}

TEST_F(EtcdModelTest, TooManyOperationsAndTwoPutsOfAKeyAreInvalid) {
  etcd_.SetOperations(2);
  pb::TxnRequest request;
  *request.add_success() = PutOf("a", "");
  *request.add_success() = PutOf("b", "");
  *request.add_success() = PutOf("c", "");
  EXPECT_EQ(Txn(request)->first.message, "etcdserver: too many operations in txn request");
  etcd_.SetOperations(128);
  *request.mutable_success(2) = PutOf("a", "");
  EXPECT_EQ(Txn(request)->first.message, "etcdserver: duplicate key given in txn request");
  EXPECT_EQ(etcd_.store().revision(), 1);
}

// Plan: what a nested transaction deletes counts for those after it, not for those before it.
TEST_F(EtcdModelTest, AKeyIsPutOrDeletedOnceInATransaction) {
  constexpr const char* kTwice = "etcdserver: duplicate key given in txn request";
  pb::RequestOp deletes;
  *deletes.mutable_request_txn()->add_success() = DeleteOf("a");
  pb::RequestOp puts;
  *puts.mutable_request_txn()->add_failure() = PutOf("a", "");
  pb::TxnRequest beside;
  *beside.add_success() = PutOf("a", "");
  *beside.add_success() = DeleteOf("a");
  EXPECT_EQ(Txn(beside)->first.message, kTwice);
  pb::TxnRequest after;
  *after.add_success() = deletes;
  *after.add_success() = puts;
  EXPECT_EQ(Txn(after)->first.message, kTwice);
  pb::TxnRequest before;
  *before.add_success() = puts;
  *before.add_success() = deletes;
  EXPECT_TRUE(Txn(before)->first.none());
}

// Plan: limits of 3; a transaction of two with one of two inside, in a branch that is not taken.
TEST_F(EtcdModelTest, NestedTransactionsShareTheLimit) {
  etcd_.SetOperations(3);
  pb::TxnRequest request;
  pb::TxnRequest& nested = *request.add_failure()->mutable_request_txn();
  *request.add_failure() = RangeOf("a");
  *nested.add_success() = RangeOf("b");
  EXPECT_TRUE(Txn(request)->first.none());
  *nested.add_success() = RangeOf("c");
  EXPECT_EQ(Txn(request)->first.message, "etcdserver: too many operations in txn request");
}

// Plan: a put, and a range of a revision that isn't there yet: nothing is done.
TEST_F(EtcdModelTest, ATransactionThatCannotReadDoesNotWriteEither) {
  pb::TxnRequest request;
  *request.add_success() = PutOf("a", "");
  *request.add_success() = RangeOf("a");
  request.mutable_success(1)->mutable_request_range()->set_revision(2);
  EXPECT_EQ(Txn(request)->first.message,
            "etcdserver: mvcc: required revision is a future revision");
  EXPECT_EQ(etcd_.store().revision(), 1);
}

// Plan: pages at one revision, while the store goes on.
TEST_F(EtcdModelTest, PagesAreReadAsOfTheirRevision) {
  Put("a", "1");
  Put("b", "1");
  Put("a", "2");
  pb::RangeRequest request;
  request.set_key("a");
  request.set_range_end("z");
  request.set_limit(1);
  request.set_revision(3);
  const auto page = Range(request);
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->second.kvs(0).value(), "1");
  EXPECT_TRUE(page->second.more());
  EXPECT_EQ(page->second.count(), 2);
  request.set_limit(0);
  request.set_count_only(true);
  EXPECT_EQ(Range(request)->second.kvs_size(), 0);
}

TEST_F(EtcdModelTest, WhatWasCompactedCanNeitherBeReadNorWatched) {
  Put("a", "1");
  Put("a", "2");
  Put("a", "3");
  EXPECT_TRUE(etcd_.Compact(3).none());
  EXPECT_EQ(etcd_.Compact(3).code, kCodeOutOfRange);
  EXPECT_EQ(etcd_.Compact(9).code, kCodeOutOfRange);
  pb::RangeRequest request;
  request.set_key("a");
  request.set_revision(2);
  EXPECT_EQ(Range(request)->first.message,
            "etcdserver: mvcc: required revision has been compacted");
  Seen early;
  Watch(early, 2);
  Seen in_time;
  Watch(in_time, 3);
  Run(milliseconds(300));
  ASSERT_EQ(early.messages.size(), 2u);
  EXPECT_TRUE(early.messages[0].created());
  EXPECT_TRUE(early.messages[1].canceled());
  EXPECT_EQ(early.messages[1].compact_revision(), 3);
  EXPECT_EQ(early.messages[1].header().revision(), 0);
  EXPECT_EQ(in_time.Events(), (std::vector<std::string>{"+a@3", "+a@4"}));
}

// Plan: a key is put twice and deleted; a watch asks for the previous values.
TEST_F(EtcdModelTest, WhatWasThereBeforeIsTold) {
  Put("a", "1");
  Put("a", "2");
  pb::TxnRequest deletion;
  *deletion.add_success() = DeleteOf("a");
  deletion.mutable_success(0)->mutable_request_delete_range()->set_prev_kv(true);
  EXPECT_EQ(Txn(deletion)->second.responses(0).response_delete_range().prev_kvs(0).value(), "2");
  pb::WatchCreateRequest request;
  request.set_key("a");
  request.set_start_revision(2);
  request.set_prev_kv(true);
  std::vector<std::string> previous;
  etcd_.Watch(0, request, [&previous](const pb::WatchResponse& response) {
    for (const auto& event : response.events()) previous.push_back(event.prev_kv().value());
  });
  Run(milliseconds(200));
  EXPECT_EQ(previous, (std::vector<std::string>{"", "1", "2"}));
}

// Plan: a transaction puts a key and deletes it again, and its revision is compacted.
TEST_F(OldEtcdTest, AWatchMissesWhatTheCompactedRevisionTookBack) {
  etcd_.LoseDeletions(true);
  pb::TxnRequest request;
  *request.add_success()->mutable_request_txn()->add_success() = PutOf("a", "1");
  *request.add_success()->mutable_request_txn()->add_success() = DeleteOf("a");
  *request.add_success() = PutOf("b", "1");
  Txn(request);
  Put("a", "2");
  EXPECT_TRUE(etcd_.Compact(2).none());
  Seen seen;
  Watch(seen, 2);
  Run(milliseconds(200));
  EXPECT_EQ(seen.Events(), (std::vector<std::string>{"+b@2", "+a@3"}));
}

TEST_F(EtcdModelTest, AWatchShowsEveryRevisionInOrderAndNothingElse) {
  Put("a", "1");
  Seen seen;
  Watch(seen, 2, 1);
  Run(milliseconds(200));
  Put("b", "1");
  Put("zz", "1");
  Delete("a");
  EXPECT_EQ(seen.Events(), (std::vector<std::string>{"+a@2", "+b@3", "-a@5"}));
}

TEST_F(EtcdModelTest, ALaggingMemberShowsItsOwnPastButReadsLinearizablyWhatIsNow) {
  etcd_.SetLag(2, seconds(3));
  Put("a", "1");
  Seen seen;
  Watch(seen, 2, 2);
  pb::RangeRequest request;
  request.set_key("a");
  request.set_serializable(true);
  EXPECT_EQ(Range(request, 2)->second.kvs_size(), 0);
  request.set_serializable(false);
  EXPECT_EQ(Range(request, 2)->second.kvs_size(), 1);
  EXPECT_TRUE(seen.Events().empty());
  Run(seconds(4));
  EXPECT_EQ(seen.Events(), (std::vector<std::string>{"+a@2"}));
}

// Plan: ask for 1 s, get 2 s; nothing renews the lease; the scan comes within half a second of its
// end.
TEST_F(EtcdModelTest, ALeaseHasAFloorAndEndsWithItsKeysInOneRevision) {
  EXPECT_EQ(Grant(5, 1), 2);
  EXPECT_EQ(Grant(5, 1), -kCodeFailedPrecondition);
  Put("a", "1", 5);
  Put("b", "1", 5);
  Run(milliseconds(1500));
  EXPECT_NE(etcd_.store().Get("a"), nullptr);
  Run(milliseconds(1200));
  EXPECT_EQ(etcd_.store().Get("a"), nullptr);
  EXPECT_EQ(etcd_.store().EventsOf(etcd_.store().revision()).size(), 2u);
  EXPECT_EQ(Put("a", "1", 5), 0);  // no such lease: the whole transaction fails
}

TEST_F(EtcdModelTest, ARenewedLeaseLives) {
  Grant(5, 2);
  Put("a", "1", 5);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(KeepAlive(5, i % 3), 2);
    Run(seconds(1));
  }
  EXPECT_NE(etcd_.store().Get("a"), nullptr);
  Run(seconds(3));
  EXPECT_EQ(KeepAlive(5, 0), 0);
}

TEST_F(EtcdModelTest, ANewLeaderStartsEveryLeaseAnew) {
  Grant(5, 2);
  Put("a", "1", 5);
  Run(milliseconds(1500));
  const std::uint64_t term = etcd_.raft_term();
  etcd_.MoveLeader();
  Run(seconds(3));  // an election of 1 to 2 s, then 2 s and an election timeout
  EXPECT_GT(etcd_.raft_term(), term);
  EXPECT_NE(etcd_.store().Get("a"), nullptr);
  Run(milliseconds(3200));
  EXPECT_EQ(etcd_.store().Get("a"), nullptr);
}

TEST_F(EtcdModelTest, WithoutAQuorumNothingIsAnswered) {
  etcd_.SetIsolated(1, true);
  etcd_.SetIsolated(2, true);
  pb::TxnRequest request;
  *request.add_success() = PutOf("a", "1");
  EXPECT_FALSE(Txn(request, 0, seconds(5)).has_value());
  pb::RangeRequest range;
  range.set_key("a");
  EXPECT_FALSE(Range(range).has_value());
  range.set_serializable(true);
  EXPECT_TRUE(Range(range).has_value());
  etcd_.SetIsolated(1, false);
  Run(seconds(3));
  EXPECT_TRUE(Txn(request).has_value());
}

// Plan: the member freezes with a transaction on its way, and thaws.
TEST_F(EtcdModelTest, AFrozenMemberAnswersOnceItThaws) {
  etcd_.SetFrozen(1, true);
  pb::TxnRequest request;
  *request.add_success() = PutOf("a", "1");
  std::optional<std::int64_t> revision;
  etcd_.Txn(1, std::make_shared<const pb::TxnRequest>(request), 7,
            [&](const Failure&, const pb::TxnResponse& response) {
              revision = response.header().revision();
            });
  Run(seconds(5));
  EXPECT_FALSE(revision.has_value());
  etcd_.SetFrozen(1, false);
  Run(kSoon);
  EXPECT_EQ(revision, 2);
}

TEST_F(EtcdModelTest, AFullDatabaseRefusesPutsAndGrantsAndNothingElse) {
  Grant(5, 60);
  Put("a", "1", 5);
  etcd_.SetNoSpace(true);
  EXPECT_EQ(Put("b", "1"), 0);
  EXPECT_EQ(Grant(6, 60), -kCodeResourceExhausted);
  pb::TxnRequest not_taken;
  *not_taken.add_failure() = PutOf("b", "1");
  EXPECT_EQ(Txn(not_taken)->first.code, kCodeResourceExhausted);
  EXPECT_EQ(KeepAlive(5, 0), 60);
  pb::TxnRequest request;
  *request.add_compare() = ModIs("a", 2);
  *request.add_success() = DeleteOf("nothing");
  EXPECT_TRUE(Txn(request)->second.succeeded());
  Delete("a");
  EXPECT_EQ(etcd_.store().Get("a"), nullptr);
}

// Plan: a put is under way while the database fills up; another one comes later.
TEST_F(EtcdModelTest, WhatIsUnderWayWhileTheDatabaseFillsUpIsAppliedAndAnsweredAsRefused) {
  pb::TxnRequest request;
  *request.add_success() = PutOf("a", "1");
  int code = 0;
  etcd_.Txn(0, std::make_shared<const pb::TxnRequest>(request), 7,
            [&](const Failure& failure, const pb::TxnResponse&) { code = failure.code; });
  etcd_.Fill();
  EXPECT_EQ(Put("b", "1"), 0);
  EXPECT_EQ(code, kCodeResourceExhausted);
  EXPECT_NE(etcd_.store().Get("a"), nullptr);
  EXPECT_EQ(etcd_.store().Get("b"), nullptr);
}

// Plan: the database fills up under the next grant: a put before it is carried out.
TEST_F(EtcdModelTest, ADatabaseFillsUpUnderWhatIsAskedFor) {
  etcd_.FillUnder(Phase::kGranting);
  EXPECT_GT(Put("a", "1"), 0);
  EXPECT_EQ(Grant(6, 60), -kCodeResourceExhausted);
  EXPECT_TRUE(etcd_.LeaseLives(6));
  EXPECT_EQ(Put("a", "1"), 0);
}

// Plan: space is freed, and the alarm stays until it is disarmed; if it is disarmed too early, it
// comes back.
TEST_F(EtcdModelTest, TheAlarmOfAFullDatabaseStaysUntilItIsDisarmed) {
  etcd_.Fill();
  EXPECT_EQ(Put("a", "1"), 0);
  etcd_.Disarm();
  EXPECT_EQ(Put("a", "1"), 0);
  etcd_.Free();
  EXPECT_EQ(Put("a", "1"), 0);
  EXPECT_EQ(Grant(6, 60), -kCodeResourceExhausted);
  etcd_.Disarm();
  EXPECT_GT(Put("a", "1"), 0);
  EXPECT_EQ(Grant(6, 60), 60);
}

TEST_F(OldEtcdTest, AStuckLeaderRenewsLeasesThatAreGoneAndLaterRevokesOneThatLives) {
  Grant(5, 2);
  Grant(6, 4);
  Put("a", "1", 6);
  etcd_.SetStuck(0, true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(KeepAlive(5, 0), 2) << "the stuck one says yes";
    KeepAlive(6, 1);
    Run(seconds(1));
  }
  EXPECT_FALSE(etcd_.LeaseLives(5));
  EXPECT_TRUE(etcd_.LeaseLives(6));
  etcd_.SetStuck(0, false);
  Run(kSoon);
  EXPECT_FALSE(etcd_.LeaseLives(6));
  EXPECT_EQ(etcd_.store().Get("a"), nullptr);
}

TEST_F(OldEtcdTest, ASilentWatchStaysOpenAndSaysNothing) {
  Seen seen;
  const WatchId id = Watch(seen, 2);
  Run(milliseconds(200));
  etcd_.Silence(0);
  Put("a", "1");
  etcd_.Progress(id);
  EXPECT_EQ(seen.messages.size(), 1u);  // its creation
}

TEST_F(OldEtcdTest, AWatchMayMissTheDeletionThatACompactionTookAway) {
  etcd_.LoseDeletions(true);
  Put("a", "1");
  Delete("a");
  etcd_.Compact(3);
  Seen seen;
  Watch(seen, 3);
  Run(milliseconds(300));
  Put("b", "1");
  EXPECT_EQ(seen.Events(), (std::vector<std::string>{"+b@4"}));
}

TEST_F(OldEtcdTest, EventsMayComeAgain) {
  Seen seen;
  Watch(seen, 2);
  Run(milliseconds(200));
  Put("a", "1");
  Put("b", "1");
  etcd_.Repeat(0, 1);
  Put("c", "1");
  EXPECT_EQ(seen.Events(), (std::vector<std::string>{"+a@2", "+b@3", "+b@3", "+c@4"}));
}

}  // namespace
}  // namespace baton::sim

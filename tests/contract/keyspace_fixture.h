// Shared by the contract tests of the keyspace and the cursor: a private etcd, the real transport,
// calls that wait for their answers, and a group of its own for each test.
#pragma once

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etcd/etcd.grpc.pb.h"
#include "etcd/grpc/transport.h"
#include "etcd/keyspace.h"
#include "etcd/records.h"
#include "etcd/write_executor.h"
#include "lab/private_etcd.h"

namespace baton::etcd::testing {

inline constexpr std::chrono::seconds kCallDeadline{30};

/// Waits for the value that a handler is given; aborts the test binary if none comes (in twice the
/// deadline).
template <typename Answer>
Answer Await(const std::function<void(std::function<void(Answer)>)>& start) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  start([promise](Answer answer) { promise->set_value(std::move(answer)); });
  if (future.wait_for(2 * kCallDeadline) != std::future_status::ready) {
    ADD_FAILURE() << "no answer";
    std::abort();
  }
  return future.get();
}

/// An etcd with a transport to it, and raw calls that Baton itself never makes.
class Store {
 public:
  explicit Store(lab::PrivateEtcdOptions options = {}) {
    auto started = lab::PrivateEtcd::Start(options);
    if (!started.ok()) {
      ADD_FAILURE() << started.error().message;
      std::abort();
    }
    etcd_ = std::move(started).value();
    GrpcTransportOptions transport_options;
    transport_options.endpoints = etcd_->endpoints();
    transport_options.first = FirstEndpoint::kFirst;
    auto created = GrpcTransport::Create(transport_options);
    if (!created.ok()) {
      ADD_FAILURE() << created.error().message;
      std::abort();
    }
    transport_ = std::move(created).value();
    stub_ = etcdserverpb::KV::NewStub(
        grpc::CreateChannel(etcd_->endpoints().back(), grpc::InsecureChannelCredentials()));
  }

  lab::PrivateEtcd& etcd() { return *etcd_; }
  Transport& transport() { return *transport_; }

  SessionId Grant(std::int64_t id) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_id(id);
    request.set_ttl(600);
    const auto reply = Await<Reply<etcdserverpb::LeaseGrantResponse>>(
        [&](auto done) { transport_->LeaseGrant(request, kCallDeadline, done); });
    EXPECT_TRUE(reply.status.ok()) << reply.status.message;
    return SessionId{id};
  }

  void Revoke(SessionId session) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(session.value);
    const auto reply = Await<Reply<etcdserverpb::LeaseRevokeResponse>>(
        [&](auto done) { transport_->LeaseRevoke(request, kCallDeadline, done); });
    EXPECT_TRUE(reply.status.ok()) << reply.status.message;
  }

  /// Everything from `key` to before `end` (empty: the one key), linearizably.
  etcdserverpb::RangeResponse Get(const std::string& key, const std::string& end = "") {
    etcdserverpb::RangeRequest request;
    request.set_key(key);
    request.set_range_end(end);
    const auto reply = Await<Reply<etcdserverpb::RangeResponse>>(
        [&](auto done) { transport_->Range(request, kCallDeadline, done); });
    EXPECT_TRUE(reply.status.ok()) << reply.status.message;
    return reply.response;
  }

  /// An unguarded transaction of puts and deletions, and its revision.
  Revision Txn(const etcdserverpb::TxnRequest& request) {
    const auto reply = Await<Reply<etcdserverpb::TxnResponse>>([&](auto done) {
      transport_->Txn(std::make_shared<etcdserverpb::TxnRequest>(request), kCallDeadline, done);
    });
    EXPECT_TRUE(reply.status.ok()) << reply.status.message;
    return Revision{reply.response.header().revision()};
  }

  Revision Put(const std::string& key, const std::string& value) {
    etcdserverpb::TxnRequest request;
    auto* put = request.add_success()->mutable_request_put();
    put->set_key(key);
    put->set_value(value);
    return Txn(request);
  }

  Revision Delete(const std::string& key) {
    etcdserverpb::TxnRequest request;
    request.add_success()->mutable_request_delete_range()->set_key(key);
    return Txn(request);
  }

  /// Drops the history below `revision`.
  void Compact(Revision revision) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    etcdserverpb::CompactionRequest request;
    request.set_revision(revision.value);
    etcdserverpb::CompactionResponse response;
    const grpc::Status status = stub_->Compact(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

 private:
  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::unique_ptr<GrpcTransport> transport_;
  std::unique_ptr<etcdserverpb::KV::Stub> stub_;
};

/// A test with the binary's one etcd and a group that only it uses.
class GroupTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { store_ = new Store(); }
  static void TearDownTestSuite() {
    delete store_;
    store_ = nullptr;
  }

  Store& store() { return *store_; }

  WriteResult Execute(const Write& write) {
    return Await<WriteResult>(
        [&](auto done) { executor.Submit(executor.Prepare(write), kCallDeadline, done); });
  }
  ConfirmResult Confirm(const SessionGuard& guard) {
    return Await<ConfirmResult>([&](auto done) { executor.Confirm(guard, kCallDeadline, done); });
  }

  SessionId NewSession() { return store().Grant(++last_session_); }

  static MemberFact MemberOf(const NodeId& node, SessionId session) {
    MemberFact member;
    member.node = node;
    member.session = session;
    member.address = "127.0.0.1:1";
    return member;
  }

  /// Opens a session for `node` and puts its member key.
  SessionGuard Join(const NodeId& node) {
    const SessionId session = NewSession();
    const WriteResult result = Execute(MemberCreate{MemberOf(node, session)});
    EXPECT_EQ(result.outcome, Outcome::kDone) << result.detail;
    return {.node = node, .session = session, .create_revision = result.revision};
  }

  /// The record as stored now.
  RecordFact Record(std::uint32_t shard) {
    const std::string key = keys.ShardKey(ShardId{shard});
    const auto range = store().Get(key);
    const Decoded decoded = range.kvs_size() > 0
                                ? keys.Decode(range.kvs(0))
                                : keys.DecodeAbsent(key, Revision{range.header().revision()});
    return std::get<ShardRecordFact>(*decoded.fact).record;
  }

  Revision Now() { return Revision{store().Get(keys.ConfigKey()).header().revision()}; }

  Keyspace keys{kDefaultPrefix, ::testing::UnitTest::GetInstance()->current_test_info()->name()};
  WriteExecutor executor{store_->transport(), keys};

 private:
  static inline Store* store_ = nullptr;
  static inline std::int64_t last_session_ = 1000;
};

/// A test with nodes that lead shards.
class LeadersTest : public GroupTest {
 protected:
  static Claim ClaimOf(std::uint32_t shard, Revision read = {},
                       std::optional<SessionRef> dead = {}) {
    Claim claim;
    claim.shard = ShardId{shard};
    claim.read = read;
    claim.dead = std::move(dead);
    return claim;
  }

  static ClaimBatch Claims(const SessionGuard& guard, std::uint32_t count) {
    ClaimBatch batch{.guard = guard, .claims = {}};
    for (std::uint32_t shard = 0; shard < count; ++shard) batch.claims.push_back(ClaimOf(shard));
    return batch;
  }

  // Claims shards 0 to count - 1, absent before.
  void Lead(const SessionGuard& guard, std::uint32_t count) {
    const WriteResult result = Execute(Claims(guard, count));
    ASSERT_EQ(result.outcome, Outcome::kDone) << result.detail;
  }

  // Writes a move that `to` has prepared; returns the transfer that would carry it out.
  Transfer Prepare(std::uint32_t shard, const SessionGuard& from, const SessionGuard& to) {
    MoveFact move;
    move.shard = ShardId{shard};
    move.present = true;
    move.ends = Record(shard).term();
    move.from = from.node;
    move.to = to.node;
    move.phase = MovePhase::kPrepared;
    move.prepared_session = to.session;
    MoveBatch batch;
    batch.target = to;
    batch.moves = {{.move = move, .read = {}}};
    const WriteResult written = Execute(batch);
    EXPECT_EQ(written.outcome, Outcome::kDone) << written.detail;
    Transfer transfer;
    transfer.shard = ShardId{shard};
    transfer.term = move.ends;
    transfer.move_read = written.revision;
    transfer.to = {to.node, to.session};
    return transfer;
  }

  static Abandon AbandonOf(std::uint32_t shard, Term term) {
    Abandon abandon;
    abandon.shard = ShardId{shard};
    abandon.term = term;
    return abandon;
  }

  static Resign ResignOf(std::uint32_t shard, Term term) {
    Resign resign;
    resign.shard = ShardId{shard};
    resign.term = term;
    return resign;
  }
};

}  // namespace baton::etcd::testing

// Events over a real gRPC server: what is kept, what is sent, and how streams end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/no_more_threads.h"
#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/event_stream.h"
#include "runtime/admin/history_proto.h"
#include "runtime/admin/proto_time.h"
#include "runtime/admin_server.h"
#include "runtime/silent_relay.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

class EventStreamTest : public testing::Test {
 protected:
  History& history() { return *server_.control.kept; }
  void Gain(int count, std::uint32_t shard = 0) {
    for (int i = 0; i < count; ++i) {
      ++term_;
      history().Add({.shard = ShardId{shard},
                     .reason = Reason::kDrain,
                     .from = "n2",
                     .to = "n1",
                     .term = Term{term_},
                     .actor = "ann"},
                    Revision{term_},
                    {.detect_at_most = {}, .elect = milliseconds(3), .activate = {}});
    }
  }

  /// One follower.
  struct Follower {
    Follower(EventStreamTest& test, const v1::WatchEventsRequest& request)
        : Follower(*test.stub_, request) {}
    Follower(v1::AdminService::Stub& stub, const v1::WatchEventsRequest& request) {
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
      stream = stub.WatchEvents(&context, request);
    }
    /// The next message; unset: the stream has ended.
    std::optional<v1::WatchEventsResponse> Next() {
      v1::WatchEventsResponse message;
      if (!stream->Read(&message)) return std::nullopt;
      return message;
    }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::WatchEventsResponse>> stream;
  };
  template <typename Message>
  static std::vector<std::uint64_t> Numbers(const Message& message) {
    std::vector<std::uint64_t> numbers;
    for (const v1::Event& event : message.events()) numbers.push_back(event.seq());
    return numbers;
  }
  static v1::WatchEventsRequest After(std::uint64_t after) {
    v1::WatchEventsRequest request;
    request.set_after(after);
    return request;
  }
  v1::ListEventsResponse List(const v1::ListEventsRequest& request) {
    grpc::ClientContext context;
    v1::ListEventsResponse response;
    EXPECT_TRUE(stub_->ListEvents(&context, request, &response).ok());
    return response;
  }

  AdminServer server_{{"n1", "n2"}, 4};
  std::unique_ptr<v1::AdminService::Stub> stub_ = v1::AdminService::NewStub(
      grpc::CreateChannel(server_.endpoint, grpc::InsecureChannelCredentials()));
  std::int64_t term_ = 0;
};

// Plan: every field comes back as it was recorded.
TEST_F(EventStreamTest, AListReadsBackTheSame) {
  Gain(2);
  const HistoryPage page = FromProto(List({}));
  const HistoryPage expected = history().Read({});
  EXPECT_EQ(page.group, "orders");
  EXPECT_EQ(page.node, "n1");
  EXPECT_EQ(page.started, expected.started);
  EXPECT_EQ(page.last, 2u);
  ASSERT_EQ(page.events.size(), 2u);
  const HistoryEvent& event = *page.events[1];
  EXPECT_EQ(event.seq, 2u);
  EXPECT_EQ(event.at, expected.events[1]->at);
  EXPECT_EQ(event.transition.reason, Reason::kDrain);
  EXPECT_EQ(event.transition.from, "n2");
  EXPECT_EQ(event.transition.to, "n1");
  EXPECT_EQ(event.transition.term, Term{2});
  EXPECT_EQ(event.transition.actor, "ann");
  EXPECT_EQ(event.revision, Revision{2});
  EXPECT_EQ(event.gap, expected.events[1]->gap);
}

TEST_F(EventStreamTest, AListIsOfWhatIsAskedFor) {
  Gain(3, 0);
  Gain(3, 1);
  v1::ListEventsRequest request;
  request.set_after(1);
  request.set_limit(2);
  EXPECT_THAT(Numbers(List(request)), ElementsAre(2, 3));
  request.set_limit(0);
  request.set_shard(1);
  EXPECT_THAT(Numbers(List(request)), ElementsAre(4, 5, 6));
}

// Plan: the first message comes at once, without events. Each event comes when it happens.
TEST_F(EventStreamTest, FollowsWhatComes) {
  Gain(2);
  Follower follower(*this, {});
  const auto first = follower.Next();
  ASSERT_TRUE(first);
  EXPECT_THAT(Numbers(*first), IsEmpty());
  EXPECT_EQ(first->last(), 2u);
  EXPECT_EQ(first->node(), "n1");
  Gain(1);
  EXPECT_THAT(Numbers(follower.Next().value()), ElementsAre(3));
}

// Plan: a number that was never used, and one whose successor is gone. The answer says so, and has
// all events.
TEST_F(EventStreamTest, AListSaysWhereItCantGoOn) {
  Gain(3);
  v1::ListEventsRequest request;
  request.set_after(3);
  EXPECT_FALSE(List(request).reset());
  EXPECT_THAT(Numbers(List(request)), IsEmpty());
  request.set_after(4);
  EXPECT_TRUE(List(request).reset());
  EXPECT_THAT(Numbers(List(request)), ElementsAre(1, 2, 3));
  Gain(100);
  request.set_after(1);
  request.set_limit(1);
  EXPECT_TRUE(List(request).reset());
  EXPECT_THAT(Numbers(List(request)), ElementsAre(4));
  EXPECT_EQ(List(request).upto(), 4u);
  request.set_after(0);
  EXPECT_FALSE(List(request).reset());
}

TEST_F(EventStreamTest, ResumesAfterANumber) {
  Gain(3);
  v1::WatchEventsRequest request = After(1);
  *request.mutable_started() = TimestampOf(history().Read({}).started);
  Follower follower(*this, request);
  const auto first = follower.Next();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->reset());
  EXPECT_THAT(Numbers(*first), ElementsAre(2, 3));
}

// Plan: a number of an earlier process, one that was never used, and one whose successor is gone.
TEST_F(EventStreamTest, SaysWhereItCantResume) {
  Gain(3);
  v1::WatchEventsRequest earlier = After(2);
  *earlier.mutable_started() = TimestampOf(history().Read({}).started - milliseconds(1));
  for (const v1::WatchEventsRequest& request : {earlier, After(4)}) {
    Follower follower(*this, request);
    const auto first = follower.Next();
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->reset());
    EXPECT_THAT(Numbers(*first), ElementsAre(1, 2, 3));
  }
  Gain(100);
  Follower follower(*this, After(1));
  const auto first = follower.Next();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->reset());
  EXPECT_EQ(first->first(), 4u);
  EXPECT_EQ(first->events(0).seq(), 4u);
}

TEST_F(EventStreamTest, FollowsOneShardAlone) {
  v1::WatchEventsRequest request;
  request.set_shard(1);
  Follower follower(*this, request);
  follower.Next();
  Gain(5, 0);
  Gain(1, 1);
  EXPECT_THAT(Numbers(follower.Next().value()), ElementsAre(6));
}

// Plan: nothing happens to the followed shard, and much to another. The caller learns how far the
// events are, so that it can come back without missing any.
TEST_F(EventStreamTest, WhoFollowsOneShardIsToldHowFarTheOthersAre) {
  v1::WatchEventsRequest request;
  request.set_shard(1);
  Follower follower(*this, request);
  ASSERT_TRUE(follower.Next());
  Gain(600, 0);
  // A stream that falls behind gets a reset, which has that number, too.
  std::uint64_t upto = 0;
  while (upto <= 100) {
    const auto message = follower.Next();
    ASSERT_TRUE(message);
    EXPECT_THAT(message->events(), IsEmpty());
    upto = message->upto();
  }
}

// Plan: many events happen while nobody reads. No number comes twice, and a gap is reported.
TEST_F(EventStreamTest, WhoReadsSlowlyMissesNothingUntold) {
  Follower follower(*this, After(0));
  std::uint64_t next = 1;
  Gain(20'000);
  while (next <= 20'000) {
    const auto message = follower.Next();
    ASSERT_TRUE(message);
    for (const v1::Event& event : message->events()) {
      if (event.seq() != next) {
        EXPECT_TRUE(message->reset());
        EXPECT_EQ(event.seq(), message->first());
      }
      next = event.seq() + 1;
    }
  }
}

// Plan: as many streams as allowed. The next one is refused, and one that leaves makes room.
TEST_F(EventStreamTest, StreamsHaveABound) {
  std::vector<std::unique_ptr<Follower>> followers;
  for (std::size_t i = 0; i < kMaxEventStreams; ++i) {
    followers.push_back(std::make_unique<Follower>(*this, v1::WatchEventsRequest()));
    ASSERT_TRUE(followers.back()->Next());
  }
  Follower refused(*this, {});
  EXPECT_FALSE(refused.Next());
  EXPECT_EQ(refused.stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  followers.front()->context.TryCancel();
  EXPECT_FALSE(followers.front()->Next());
  bool admitted = false;
  for (int i = 0; i < 10'000 && !admitted; ++i) {
    admitted = Follower(*this, {}).Next().has_value();
  }
  EXPECT_TRUE(admitted);
  for (const auto& follower : followers) follower->context.TryCancel();
}

// Plan: streams on a connection that falls silent take all places, and nothing happens that could
// be sent to them. Pings notice it, and there is room again.
TEST_F(EventStreamTest, WhoIsGoneWithoutAWordMakesRoom) {
  AdminServer server({"n1"}, 4, {}, "127.0.0.1", {milliseconds(100), milliseconds(100)});
  SilentRelay relay(static_cast<std::uint16_t>(server.port));
  const auto silent = v1::AdminService::NewStub(
      grpc::CreateChannel(relay.endpoint(), grpc::InsecureChannelCredentials()));
  const auto direct = v1::AdminService::NewStub(
      grpc::CreateChannel(server.endpoint, grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<Follower>> followers;
  for (std::size_t i = 0; i < kMaxEventStreams; ++i) {
    followers.push_back(std::make_unique<Follower>(*silent, v1::WatchEventsRequest()));
    ASSERT_TRUE(followers.back()->Next());
  }
  EXPECT_FALSE(Follower(*direct, {}).Next());
  relay.FallSilent();
  bool admitted = false;
  for (int i = 0; i < 100'000 && !admitted; ++i) {
    admitted = Follower(*direct, {}).Next().has_value();
  }
  EXPECT_TRUE(admitted);
  for (const auto& follower : followers) follower->context.TryCancel();
}

/// A stream of events by the holder of a token.
struct TokensFollower {
  TokensFollower(v1::AdminService::Stub& stub, const std::string& token) {
    context.AddMetadata("authorization", "Bearer " + token);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream = stub.WatchEvents(&context, {});
  }
  bool Begins() {
    v1::WatchEventsResponse message;
    return stream->Read(&message);
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::WatchEventsResponse>> stream;
};

// Plan: one who may read opens streams until none is left for it; others still get some, until
// those who may only read have all of theirs. An operator gets in all the same.
TEST(EventStreams, ACallerWithAllOfItsShareLeavesRoomForOthersAndOperators) {
  const auto access = std::make_shared<access::Access>(access::Access::Defaults{});
  access->SetRules({.tokens = {{"eve", access::DigestOf("eve's"), access::Role::kRead},
                               {"bob", access::DigestOf("bob's"), access::Role::kRead},
                               {"ann", access::DigestOf("ann's"), access::Role::kRead},
                               {"dan", access::DigestOf("dan's"), access::Role::kRead},
                               {"ops", access::DigestOf("ops's"), access::Role::kOperate}}});
  FakeControl control({"n1"}, 4);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const auto service = RegisterAdminService(builder, control, {access, nullptr});
  const auto server = builder.BuildAndStart();
  const auto stub = v1::AdminService::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<TokensFollower>> followers;
  const auto begins = [&](const std::string& who) {
    followers.push_back(std::make_unique<TokensFollower>(*stub, who + "'s"));
    return followers.back()->Begins();
  };
  for (const char* who : {"eve", "bob", "ann"}) {
    for (std::size_t i = 0; i < kEventPlaces.of_caller; ++i) EXPECT_TRUE(begins(who)) << who;
    EXPECT_FALSE(begins(who)) << who;
    EXPECT_EQ(followers.back()->stream->Finish().error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_FALSE(begins("dan")) << "those who may only read have all of theirs";
  for (std::size_t i = kEventPlaces.of_readers; i < kMaxEventStreams; ++i) {
    EXPECT_TRUE(begins("ops"));
  }
  for (const auto& follower : followers) follower->context.TryCancel();
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
}

/// Serves only events.
struct EventServer final
    : v1::AdminService::WithRawCallbackMethod_WatchEvents<v1::AdminService::Service> {
  explicit EventServer(Duration unread_for = std::chrono::minutes(1))
      : streams(history, unread_for) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server = builder.BuildAndStart();
  }
  ~EventServer() override {
    server->Shutdown(std::chrono::system_clock::now());
    server->Wait();
  }
  EventStreams::Reactor* WatchEvents(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request) override {
    return streams.Watch(*context, *request);
  }

  const std::shared_ptr<History> history = std::make_shared<History>("orders", "n1", 10);
  EventStreams streams;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

// Plan: more callers than allowed come while the serving thread can't be started: each is refused.
// When it can be started, all places are free. (gRPC itself needs threads, so these callers come
// without gRPC.)
TEST(EventStreams, ARefusalTakesNoPlace) {
  EventServer server;
  {
    const NoMoreThreads none;
    const grpc::Slice no_fields;
    const grpc::ByteBuffer request(&no_fields, 1);
    for (std::size_t i = 0; i < kMaxEventStreams + 1; ++i) {
      grpc::CallbackServerContext context;
      server.streams.Watch(context, request)
          ->OnDone();  // there is no call, so nobody else calls it
    }
  }
  const auto stub = v1::AdminService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(server.port), grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchEventsResponse>>> readers;
  for (std::size_t i = 0; i < kMaxEventStreams; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub->WatchEvents(contexts.back().get(), {}));
    v1::WatchEventsResponse first;
    ASSERT_TRUE(readers.back()->Read(&first)) << readers.back()->Finish().error_message();
  }
  for (const auto& context : contexts) context->TryCancel();
}

// Plan: callers that read nothing have all places, and events keep happening. Each of them is cut
// off, so there is room again.
TEST(EventStreams, WhoReadsNothingIsCutOff) {
  EventServer server(std::chrono::seconds(1));
  const auto stub = v1::AdminService::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(server.port), grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchEventsResponse>>> readers;
  const auto begins = [&] {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    contexts.back()->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    readers.push_back(stub->WatchEvents(contexts.back().get(), {}));
    v1::WatchEventsResponse message;
    return readers.back()->Read(&message);
  };
  for (std::size_t i = 0; i < kMaxEventStreams; ++i) EXPECT_TRUE(begins());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool room = false;
  std::int64_t term = 0;
  while (!room && std::chrono::steady_clock::now() < deadline) {
    for (int i = 0; i < 100; ++i) {
      ++term;
      server.history->Add({.shard = ShardId{0},
                           .reason = Reason::kDrain,
                           .from = std::string(1000, 'n'),
                           .to = "n1",
                           .term = Term{term}},
                          Revision{term}, {});
    }
    room = begins();
  }
  EXPECT_TRUE(room);
  for (const auto& context : contexts) context->TryCancel();
}

TEST_F(EventStreamTest, EndsWithTheNode) {
  Follower follower(*this, {});
  ASSERT_TRUE(follower.Next());
  history().Close();
  EXPECT_FALSE(follower.Next());
  EXPECT_EQ(follower.stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  Follower late(*this, {});
  while (late.Next()) {
  }
  EXPECT_EQ(late.stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace baton::runtime

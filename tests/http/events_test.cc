// /v1/events over real sockets: one document, and a feed that continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "http/client.h"
#include "http/event_feed.h"
#include "http/fake_control.h"
#include "http/history_json.h"
#include "http/server.h"

namespace baton::http {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::shared_ptr<runtime::History> HistoryFor(std::size_t most) {
  return std::make_shared<runtime::History>("orders", "n1", most);
}

void Gain(runtime::History& history, std::uint32_t shard, std::int64_t term) {
  history.Add({.shard = ShardId{shard},
               .reason = Reason::kLeaseExpired,
               .from = "n1",
               .to = "n2",
               .term = Term{term}},
              Revision{term}, {.detect_at_most = {}, .elect = milliseconds(20), .activate = {}});
}

class EventsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto bound = HttpServer::Bind(
        {.group = "orders", .address = "127.0.0.1:0", .write_timeout = milliseconds(3000)});
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    server_ = std::move(bound).value();
    server_->Serve(control_, {});
  }
  runtime::History& history() { return *control_.kept; }
  std::string Fetch(const std::string& target) { return Get(server_->port(), target); }

  /// The numbers of a document's events.
  std::vector<std::int64_t> Numbers(const std::string& target) {
    std::vector<std::int64_t> numbers;
    const json::value document = json::parse(BodyOf(Fetch(target)));
    for (const json::value& event : document.at("events").as_array()) {
      numbers.push_back(event.at("seq").as_int64());
    }
    return numbers;
  }

  FakeControl control_;
  std::unique_ptr<HttpServer> server_;
};

TEST(EventJson, HasEveryFieldInItsPlace) {
  runtime::HistoryEvent event;
  event.seq = 17;
  event.at = std::chrono::system_clock::time_point(milliseconds(1'795'305'957'177));
  event.transition = {.shard = ShardId{3},
                      .reason = Reason::kLeaseExpired,
                      .from = "n1",
                      .to = "n2",
                      .term = Term{815},
                      .cause = {.kind = CauseKind::kReadyStandby, .rule = 1, .detail = "zone=b"}};
  event.revision = Revision{815};
  event.gap = {
      .detect_at_most = milliseconds(9100), .elect = milliseconds(20), .activate = milliseconds(1)};
  EXPECT_EQ(EventJson(event, "n2"),
            "{\"seq\":17,\"at\":\"2026-11-22T00:05:57.177Z\",\"shard\":3,"
            "\"reason\":\"lease_expired\",\"from\":\"n1\",\"to\":\"n2\",\"term\":815,"
            "\"revision\":815,\"actor\":\"\",\"cause\":{\"kind\":\"ready_standby\",\"rule\":1,"
            "\"detail\":\"zone=b\",\"words\":\"ready standby in zone "
            "b\"},\"gap\":{\"detect_at_most_seconds\":9.1,"
            "\"elect_seconds\":0.02,\"activate_seconds\":0.001,\"measured_seconds\":0.021,"
            "\"at_most_seconds\":9.121},\"observer\":\"n2\"}");
}

TEST(EventJson, OfAChangeSaysWhatWasOrderedAndByWhom) {
  runtime::HistoryEvent event;
  event.seq = 18;
  event.at = std::chrono::system_clock::time_point(milliseconds(1'795'305'957'177));
  event.transition.actor = "ann\"";
  event.change = "drain n3";
  event.revision = Revision{820};
  EXPECT_EQ(EventJson(event, "n2"),
            "{\"seq\":18,\"at\":\"2026-11-22T00:05:57.177Z\",\"change\":\"drain n3\","
            "\"revision\":820,\"actor\":\"ann\\\"\",\"observer\":\"n2\"}");
}

// Plan: a guard measured how long it knew of a death. That is a phase like the others.
TEST(EventJson, OfAProvenDeathSaysHowLongItsGuardKnew) {
  runtime::HistoryEvent event;
  event.transition = {
      .shard = ShardId{3}, .reason = Reason::kProcessDied, .from = "n1", .to = "n2"};
  event.gap.detect = milliseconds(20);
  event.gap.elect = milliseconds(5);
  EXPECT_THAT(EventJson(event, "n3"),
              HasSubstr("\"gap\":{\"detect_seconds\":0.02,\"elect_seconds\":0.005,"
                        "\"measured_seconds\":0.025,\"at_most_seconds\":0.025},"));
}

// Plan: nobody knows how long a death went unnoticed. No upper bound is claimed.
TEST(EventJson, OfADeathWithoutABoundClaimsNone) {
  runtime::HistoryEvent event;
  event.transition = {
      .shard = ShardId{3}, .reason = Reason::kProcessDied, .from = "n1", .to = "n2"};
  event.gap.elect = milliseconds(5);
  EXPECT_THAT(EventJson(event, "n3"),
              HasSubstr("\"gap\":{\"elect_seconds\":0.005,\"measured_seconds\":0.005},"));
}

// Plan: a missing node is null, an unknown phase is absent, and texts from outside are escaped.
TEST(EventJson, SaysNobodyAndNothingPlainly) {
  runtime::HistoryEvent event;
  event.transition.reason = Reason::kOperator;
  event.transition.actor = "ann\"\n\x01";
  const std::string text = EventJson(event, "n2");
  EXPECT_THAT(text,
              AllOf(HasSubstr("\"from\":null,\"to\":null"), HasSubstr("\"cause\":null,\"gap\":{}"),
                    HasSubstr("\"actor\":\"ann\\\"\\n\\u0001\"")));
  EXPECT_EQ(json::parse(text).at("actor").as_string(), event.transition.actor);
}

TEST_F(EventsTest, AreOneDocument) {
  Gain(history(), 3, 815);
  const std::string response = Fetch("/v1/events");
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_EQ(HeaderOf(response, "Content-Type"), "application/json");
  const json::value document = json::parse(BodyOf(response));
  EXPECT_EQ(document.at("group").as_string(), "orders");
  EXPECT_EQ(document.at("node").as_string(), "n1");
  EXPECT_EQ(document.at("started").as_string().size(), 24u);
  EXPECT_EQ(document.at("first").as_int64(), 1);
  EXPECT_EQ(document.at("last").as_int64(), 1);
  EXPECT_EQ(document.at("events").at(0).at("term").as_int64(), 815);
}

TEST_F(EventsTest, CanBeReadOnByPagesAndByShard) {
  for (int i = 1; i <= 6; ++i) Gain(history(), i % 2, i);
  EXPECT_THAT(Numbers("/v1/events?limit=2"), ElementsAre(1, 2));
  EXPECT_THAT(Numbers("/v1/events?after=2&limit=3"), ElementsAre(3, 4, 5));
  EXPECT_THAT(Numbers("/v1/events?after=6"), IsEmpty());
  EXPECT_THAT(Numbers("/v1/events?shard=1"), ElementsAre(1, 3, 5));
  EXPECT_THAT(Numbers("/v1/events?shard=77"), IsEmpty());
}

// Plan: a number of an earlier process, and one whose successor is gone: the answer says so and has
// all events. No number, or the newest one, misses nothing.
TEST_F(EventsTest, ADocumentSaysWhereItCantGoOn) {
  control_.kept = HistoryFor(3);
  const auto reset = [&](const std::string& query) {
    return json::parse(BodyOf(Fetch("/v1/events" + query))).at("reset").as_bool();
  };
  for (int i = 1; i <= 3; ++i) Gain(history(), 0, i);
  EXPECT_TRUE(reset("?after=4"));
  EXPECT_TRUE(reset("?after=18446744073709551615"));
  EXPECT_THAT(Numbers("/v1/events?after=4"), ElementsAre(1, 2, 3));
  EXPECT_FALSE(reset("?after=3"));
  for (int i = 4; i <= 6; ++i) Gain(history(), 0, i);
  EXPECT_TRUE(reset("?after=2"));
  EXPECT_THAT(Numbers("/v1/events?after=2&limit=1"), ElementsAre(4));
  EXPECT_FALSE(reset("?after=3"));
  EXPECT_FALSE(reset(""));
}

TEST_F(EventsTest, BadQuestionsGetOneClearLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"?after=-1", "after is not an event number; expected 0 or more"},
      {"?after=x", "after is not an event number; expected 0 or more"},
      {"?limit=0", "limit is invalid; expected a number from 1 to 10000"},
      {"?limit=10001", "limit is invalid; expected a number from 1 to 10000"},
      {"?shard=", "shard is invalid; expected a shard's number"}};
  for (const auto& [query, line] : cases) {
    const std::string response = Fetch(std::string("/v1/events") + query);
    EXPECT_EQ(StatusOf(response), 400) << query;
    EXPECT_EQ(BodyOf(response), std::string("{\"error\":\"") + line + "\"}\n");
  }
}

/// Reads a feed's bytes, event by event.
class FeedReader {
 public:
  FeedReader(std::uint16_t port, const std::string& target, const std::string& last_id = "")
      : client_(port) {
    client_.Send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" +
                 (last_id.empty() ? "" : "Last-Event-ID: " + last_id + "\r\n") + "\r\n");
    head_ = client_.Receive(true);
  }
  const std::string& head() const { return head_; }
  /// The next block, without its empty line; what came of it if the server closes.
  std::string Next() { return client_.ReceiveUntil("\n\n"); }
  /// The next block that names an event.
  std::string NextEvent() {
    std::string block = Next();
    while (!block.empty() && block.find("event: ") == std::string::npos) block = Next();
    return block;
  }
  static std::string IdOf(const std::string& block) {
    const std::size_t at = block.find("id: ");
    return at == std::string::npos ? "" : block.substr(at + 4, block.find('\n', at) - at - 4);
  }

 private:
  Client client_;
  std::string head_;
};

// Plan: the kept events come first, then new ones while the feed is open.
TEST_F(EventsTest, FeedsGoOnWithWhatHappens) {
  Gain(history(), 3, 815);
  FeedReader feed(server_->port(), "/v1/events");
  EXPECT_THAT(feed.head(), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(HeaderOf(feed.head() + "\r\n", "Content-Type"), "text/event-stream");
  const std::string first = feed.NextEvent();
  EXPECT_THAT(first, AllOf(HasSubstr("event: transition\n"), HasSubstr("\"term\":815")));
  EXPECT_THAT(FeedReader::IdOf(first), testing::EndsWith("-1"));
  Gain(history(), 4, 816);
  EXPECT_THAT(feed.NextEvent(), HasSubstr("\"term\":816"));
  history().AddChange("pause", "ann", Revision{817});
  EXPECT_THAT(feed.NextEvent(),
              AllOf(HasSubstr("event: change\n"), HasSubstr("\"change\":\"pause\"")));
}

// Plan: a reader comes back with its last id and gets only the rest.
TEST_F(EventsTest, FeedsResumeWhereTheReaderWas) {
  for (int i = 1; i <= 3; ++i) Gain(history(), 0, i);
  FeedReader before(server_->port(), "/v1/events");
  before.NextEvent();
  const std::string id = FeedReader::IdOf(before.NextEvent());
  FeedReader again(server_->port(), "/v1/events?after=0", id);
  EXPECT_THAT(again.NextEvent(), AllOf(HasSubstr("event: transition"), HasSubstr("\"seq\":3")));
  FeedReader by_number(server_->port(), "/v1/events?after=2");
  EXPECT_THAT(by_number.NextEvent(), HasSubstr("\"seq\":3"));
}

// Plan: ids of another process, or beyond the newest: the reader gets a reset, then all events.
TEST_F(EventsTest, FeedsSayWhereTheyCantResume) {
  Gain(history(), 0, 1);
  for (const char* id : {"1700000000000-1", "1700000000000-99"}) {
    FeedReader feed(server_->port(), "/v1/events", id);
    const std::string reset = feed.NextEvent();
    EXPECT_THAT(reset, AllOf(HasSubstr("event: reset\n"), HasSubstr("{\"first\":1,\"last\":1}")));
    EXPECT_THAT(feed.NextEvent(), HasSubstr("\"seq\":1"));
  }
  FeedReader ahead(server_->port(), "/v1/events?after=50");
  EXPECT_THAT(ahead.NextEvent(), HasSubstr("event: reset"));
  FeedReader nonsense(server_->port(), "/v1/events", "no id at all");
  EXPECT_THAT(nonsense.NextEvent(), HasSubstr("event: transition"));
}

// Plan: room for 3 events. The reader had number 1, and 2 is gone.
TEST_F(EventsTest, FeedsSayWhatIsNotKeptAnyMore) {
  control_.kept = HistoryFor(3);
  for (int i = 1; i <= 5; ++i) Gain(history(), 0, i);
  FeedReader feed(server_->port(), "/v1/events?after=1");
  EXPECT_THAT(feed.NextEvent(),
              AllOf(HasSubstr("event: reset"), HasSubstr("{\"first\":3,\"last\":5}")));
  EXPECT_THAT(feed.NextEvent(), HasSubstr("\"seq\":3"));
  FeedReader whole(server_->port(), "/v1/events");
  EXPECT_THAT(whole.NextEvent(), HasSubstr("\"seq\":3")) << "who named no number misses nothing";
}

// Plan: only the cursor, without sockets. It is not read while more happens than is kept.
TEST(EventFeedTest, WhoFallsBehindIsTold) {
  const auto history = HistoryFor(3);
  Gain(*history, 0, 1);
  EventFeed feed(history, {});
  EXPECT_THAT(feed.Next(), HasSubstr("\"seq\":1"));
  EXPECT_THAT(feed.Next(), IsEmpty());
  for (int i = 2; i <= 9; ++i) Gain(*history, 0, i);
  const std::string next = feed.Next();
  EXPECT_THAT(next, AllOf(HasSubstr("event: reset\ndata: {\"first\":7,\"last\":9}\n\n"),
                          HasSubstr("\"seq\":7"), HasSubstr("\"seq\":9")));
  EXPECT_THAT(feed.Next(), IsEmpty());
}

// Plan: the node's last event comes, and then its end, after the reader has looked and before it
// asks whether the feed has ended.
TEST(EventFeedTest, TheLastEventBeforeTheEndIsSent) {
  const auto history = HistoryFor(3);
  EventFeed feed(history, {});
  EXPECT_THAT(feed.Next(), Not(HasSubstr("transition")));
  EXPECT_THAT(feed.Next(), IsEmpty());
  Gain(*history, 0, 1);
  history->Close();
  EXPECT_FALSE(feed.ended());
  EXPECT_THAT(feed.Next(), HasSubstr("\"seq\":1"));
  EXPECT_TRUE(feed.ended());
}

// Plan: nothing happens to the followed shard, and much to another: the heartbeat moves the
// reader's id on.
TEST(EventFeedTest, HeartbeatsMoveTheIdOn) {
  const auto history = HistoryFor(3);
  Gain(*history, 1, 1);
  EventFeed feed(history, {.shard = ShardId{0}});
  EXPECT_THAT(feed.Next(), Not(HasSubstr("transition")));
  Gain(*history, 1, 2);
  int told = 0;
  feed.Await([&] { ++told; });
  EXPECT_EQ(told, 1);
  EXPECT_THAT(feed.Next(), IsEmpty());
  EXPECT_THAT(feed.Heartbeat(),
              AllOf(StartsWith(": "), HasSubstr("-2\n\n"), Not(HasSubstr("data"))));
}

// Plan: a long history has one event of the followed shard, its last. No call looks through all of
// it, and the feed goes on by itself, also once the node stops.
TEST(EventFeedTest, AReaderOfOneShardLooksThroughALongHistoryInTurns) {
  const auto history = HistoryFor(100'000);
  for (int i = 1; i < 100'000; ++i) Gain(*history, 1, i);
  Gain(*history, 0, 100'000);
  history->Close();
  EventFeed feed(history, {.shard = ShardId{0}});
  std::string text = feed.Next();
  EXPECT_THAT(text, Not(HasSubstr("transition")));
  int turns = 1;
  for (; !feed.ended() && turns < 1000; ++turns) {
    int told = 0;
    feed.Await([&] { ++told; });
    EXPECT_EQ(told, 1);
    text = feed.Next();
  }
  EXPECT_GE(turns, 10);
  EXPECT_THAT(text, HasSubstr("\"seq\":100000"));
}

// Plan: far more events than fit into one message come in order and complete.
TEST_F(EventsTest, LongFeedsComeInWhole) {
  control_.kept = HistoryFor(10'000);
  for (int i = 1; i <= 3'000; ++i) Gain(history(), 0, i);
  FeedReader feed(server_->port(), "/v1/events");
  for (int i = 1; i <= 3'000; ++i) {
    ASSERT_THAT(feed.NextEvent(), HasSubstr("\"seq\":" + std::to_string(i) + ","));
  }
}

// Plan: as many feeds as allowed. The next one is refused, with a time for its retry. When one
// leaves there is room. Everything else is answered all the time.
TEST_F(EventsTest, FeedsHaveABound) {
  Gain(history(), 0, 1);
  std::vector<std::unique_ptr<FeedReader>> feeds;
  for (std::size_t i = 0; i < kMaxFeeds; ++i) {
    feeds.push_back(std::make_unique<FeedReader>(server_->port(), "/v1/events"));
    ASSERT_THAT(feeds.back()->NextEvent(), HasSubstr("\"seq\":1"));
  }
  const FeedReader refused(server_->port(), "/v1/events");
  EXPECT_THAT(refused.head(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 5")));
  EXPECT_GE(server_->bounds().feeds, 1u);
  EXPECT_EQ(StatusOf(Fetch("/livez")), 200);
  feeds.pop_back();
  std::string head;
  for (int i = 0; i < 1'000 && !head.starts_with("HTTP/1.1 200"); ++i) {
    head = FeedReader(server_->port(), "/v1/events").head();
  }
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200"));
}

/// Polls until the condition holds; false: it did not within a limit far above what it needs.
bool Until(const std::function<bool()>& condition) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > patience) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

// Plan: a reader of far more than socket buffers hold reads nothing. It is cut off, and counted.
TEST_F(EventsTest, AReaderThatNeverReadsIsCutOffAndCounted) {
  control_.kept = HistoryFor(20'000);
  const std::string actor(1'000, 'x');
  for (int i = 1; i <= 20'000; ++i) {
    history().Add({.shard = ShardId{0}, .reason = Reason::kOperator, .actor = actor}, Revision{i},
                  {});
  }
  const FeedReader feed(server_->port(), "/v1/events");
  EXPECT_TRUE(Until([&] { return server_->bounds().slow_readers == 1; }));
}

/// Switches the loopback device of the calling thread's network.
void SetLoopback(bool up) {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
  ioctl(any, SIOCGIFFLAGS, &request);
  request.ifr_flags =
      static_cast<short>(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
  ioctl(any, SIOCSIFFLAGS, &request);
  close(any);
}

/// Our established connections at that port, in the calling thread's network.
int EstablishedAt(std::uint16_t port) {
  std::ifstream table("/proc/thread-self/net/tcp");
  std::string line;
  int count = 0;
  while (std::getline(table, line)) {
    unsigned local = 0;
    unsigned state = 0;
    const int read = std::sscanf(line.c_str(), " %*d: %*x:%x %*x:%*x %x", &local, &state);
    if (read == 2 && local == port && state == 1) ++count;
  }
  return count;
}

void ReadersWhoseHostIsGoneMakeRoom() {
  SetLoopback(true);
  FakeControl control;
  auto bound = HttpServer::Bind(
      {.group = "orders", .address = "127.0.0.1:0", .write_timeout = milliseconds(1000)});
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  HttpServer& server = *bound.value();
  server.Serve(control, {});
  Gain(*control.kept, 0, 1);
  std::vector<std::unique_ptr<FeedReader>> feeds;
  for (std::size_t i = 0; i < kMaxFeeds; ++i) {
    feeds.push_back(std::make_unique<FeedReader>(server.port(), "/v1/events"));
    ASSERT_THAT(feeds.back()->NextEvent(), HasSubstr("\"seq\":1"));
  }
  SetLoopback(false);
  Gain(*control.kept, 0, 2);
  EXPECT_TRUE(Until([&] { return EstablishedAt(server.port()) == 0; }));
  EXPECT_TRUE(Until([&] { return server.bounds().slow_readers == kMaxFeeds; }));
  SetLoopback(true);
  EXPECT_THAT(FeedReader(server.port(), "/v1/events").head(), StartsWith("HTTP/1.1 200"));
}

// Plan: in a network of its own, the only device goes down, so data arrives nowhere and nobody
// reports that. Feeds had taken all places. These are free when the data has not been acknowledged
// in time.
TEST(EventFeedTest, ReadersWhoseHostIsGoneMakeRoom) {
  bool own = false;
  std::thread([&own] {
    own = unshare(CLONE_NEWNET) == 0;  // for this thread and those that it starts
    if (own) ReadersWhoseHostIsGoneMakeRoom();
  }).join();
  if (!own) GTEST_SKIP() << "no network of its own for this user";
}

TEST_F(EventsTest, FeedsEndWithTheNode) {
  Gain(history(), 0, 1);
  FeedReader feed(server_->port(), "/v1/events");
  EXPECT_THAT(feed.NextEvent(), HasSubstr("\"seq\":1"));
  history().Close();
  EXPECT_THAT(feed.Next(), IsEmpty());
}

TEST_F(EventsTest, FeedsEndWithTheServer) {
  FeedReader feed(server_->port(), "/v1/events");
  EXPECT_THAT(feed.Next(), StartsWith("retry: "));
  server_.reset();
  EXPECT_THAT(feed.Next(), IsEmpty());
  Gain(history(), 0, 1);
}

// Plan: HEAD asks for no body, so no feed begins and no place is taken.
TEST_F(EventsTest, HeadOfAFeedHasNoBody) {
  Client client(server_->port());
  client.Send("HEAD /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  EXPECT_THAT(client.Receive(true), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(client.ReceiveAll(), IsEmpty());
}

}  // namespace
}  // namespace baton::http

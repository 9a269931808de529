// Keepalive and watch streams of GrpcTransport against a real etcd.
#include <atomic>
#include <mutex>

#include "contract/transport_support.h"
#include "etcd/etcd.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace baton::etcd::test {
namespace {

using std::chrono::milliseconds;

class TransportStream : public testing::Test {
 protected:
  void SetUp() override {
    etcd_ = StartEtcd({.members = 1});
    ASSERT_NE(etcd_, nullptr);
    transport_ = Connect({.endpoints = etcd_->endpoints()});
    ASSERT_NE(transport_, nullptr);
  }
  std::int64_t PutAndTellRevision(const std::string& key, const std::string& value) {
    const auto put = Put(*transport_, key, value);
    EXPECT_TRUE(put.status.ok()) << put.status.message;
    return put.response.header().revision();
  }
  void Compact(std::int64_t revision) {
    const auto stub = etcdserverpb::KV::NewStub(
        grpc::CreateChannel(etcd_->endpoints()[0], grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    etcdserverpb::CompactionRequest request;
    etcdserverpb::CompactionResponse response;
    request.set_revision(revision);
    ASSERT_TRUE(stub->Compact(&context, request, &response).ok());
  }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::unique_ptr<GrpcTransport> transport_;
};

// Plan: ten renewals on one stream, each sent after the last one's answer. There is one answer for
// each, with the lease's id and full TTL.
TEST_F(TransportStream, AnswersKeepAlivesOneForOne) {
  ASSERT_TRUE(Grant(*transport_, 7, 30).status.ok());
  KeepAliveLog log;
  const auto stream = transport_->OpenKeepAlive(7, "", log.Handler());
  EXPECT_EQ(stream->endpoint(), etcd_->endpoints()[0]);
  std::int64_t newest_revision = 0;
  for (std::size_t i = 1; i <= 10; ++i) {
    stream->Send();
    const auto answers = log.answers.WaitForCount(i);
    ASSERT_EQ(answers.size(), i);
    EXPECT_EQ(answers.back().id(), 7);
    EXPECT_EQ(answers.back().ttl(), 30);
    EXPECT_GE(answers.back().header().revision(), newest_revision);
    newest_revision = answers.back().header().revision();
    PutAndTellRevision("k", std::to_string(i));
  }
  EXPECT_TRUE(log.ended.Values().empty());
}

// Plan: two streams for two leases, each answered separately, even if one lease is gone.
TEST_F(TransportStream, TellsThatALeaseIsGoneByItsTtl) {
  ASSERT_TRUE(Grant(*transport_, 7, 30).status.ok());
  KeepAliveLog live;
  KeepAliveLog gone;
  const auto first = transport_->OpenKeepAlive(7, "", live.Handler());
  const auto second = transport_->OpenKeepAlive(8, "", gone.Handler());
  first->Send();
  second->Send();
  ASSERT_EQ(live.answers.WaitForCount(1).size(), 1u);
  ASSERT_EQ(gone.answers.WaitForCount(1).size(), 1u);
  EXPECT_EQ(live.answers.Values()[0].ttl(), 30);
  EXPECT_LE(gone.answers.Values()[0].ttl(), 0);
}

// Plan: watch from a past revision: first the history, then new events, in revision order.
TEST_F(TransportStream, DeliversHistoryThenThePresent) {
  const std::int64_t first = PutAndTellRevision("w/1", "a");
  PutAndTellRevision("w/2", "b");
  WatchLog log;
  const auto watch = transport_->OpenWatch(WatchFrom("w/", first), "", log.Handler());
  EXPECT_TRUE(log.WaitUntilCreated());
  PutAndTellRevision("w/3", "c");
  const auto events = log.WaitForEvents(3);
  ASSERT_EQ(events.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(events[static_cast<std::size_t>(i)].kv().mod_revision(), first + i);
  }
  EXPECT_TRUE(log.ended.Values().empty());
}

// Plan: request progress once the store has reached the watch's first revision; a response without
// events comes, with the store's revision.
TEST_F(TransportStream, AnswersProgressRequests) {
  const std::int64_t revision = PutAndTellRevision("other", "a");
  WatchLog log;
  const auto watch = transport_->OpenWatch(WatchFrom("w/", revision), "", log.Handler());
  ASSERT_TRUE(log.WaitUntilCreated());
  const std::int64_t newest = PutAndTellRevision("w/1", "b");
  ASSERT_EQ(log.WaitForEvents(1).size(), 1u);  // so it has caught up
  watch->RequestProgress();
  const auto responses = log.responses.WaitForCount(3);
  ASSERT_EQ(responses.size(), 3u);
  EXPECT_EQ(responses[2].events_size(), 0);
  EXPECT_GE(responses[2].header().revision(), newest);
}

// Plan: request progress of a watch whose first revision is yet to come. Newer versions of etcd
// never answer that (docs/etcd-versions.md). The stream goes on, and answers the next request.
TEST_F(TransportStream, GoesOnAfterARequestForProgressWithoutAnAnswer) {
  const std::int64_t revision = PutAndTellRevision("other", "a");
  WatchLog log;
  const auto watch = transport_->OpenWatch(WatchFrom("w/", revision + 1), "", log.Handler());
  ASSERT_TRUE(log.WaitUntilCreated());
  watch->RequestProgress();
  const std::int64_t newest = PutAndTellRevision("w/1", "b");
  ASSERT_EQ(log.WaitForEvents(1).size(), 1u);
  watch->RequestProgress();
  log.responses.WaitUntil([newest](const auto& all) {
    return all.back().events_size() == 0 && all.back().header().revision() >= newest;
  });
  EXPECT_GE(log.responses.Values().back().header().revision(), newest);
  EXPECT_EQ(log.responses.Values().back().events_size(), 0);
  EXPECT_TRUE(log.ended.Values().empty());
}

// Plan: 6 MiB of history come as one message, above gRPC's default limit of 4 MiB. Requested in
// fragments (which etcd makes of messages above 1.5 MiB), it is the same single response.
TEST_F(TransportStream, ReceivesAnySizeAndJoinsFragments) {
  const std::int64_t first = PutAndTellRevision("w/0", std::string(1 << 20, 'x'));
  for (int i = 1; i < 6; ++i) {
    PutAndTellRevision("w/" + std::to_string(i), std::string(1 << 20, 'x'));
  }
  for (const bool fragment : {false, true}) {
    auto request = WatchFrom("w/", first);
    request.set_fragment(fragment);
    WatchLog log;
    const auto watch = transport_->OpenWatch(request, "", log.Handler());
    const auto events = log.WaitForEvents(6);
    ASSERT_EQ(events.size(), 6u);
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(events[static_cast<std::size_t>(i)].kv().key(), "w/" + std::to_string(i));
    }
    const auto responses = log.responses.Values();
    ASSERT_EQ(responses.size(), 2u) << "created, then all events at once";
    EXPECT_FALSE(responses[1].fragment());
  }
}

// Plan: compact, then watch from before: cancelled with the compact revision, then ended as
// refused, once.
TEST_F(TransportStream, TellsTheCompactRevisionThenEnds) {
  for (int i = 0; i < 5; ++i) PutAndTellRevision("w/1", std::to_string(i));
  const std::int64_t compacted = PutAndTellRevision("w/1", "last");
  Compact(compacted);
  WatchLog log;
  const auto watch = transport_->OpenWatch(WatchFrom("w/", 2), "", log.Handler());
  const auto ended = log.ended.WaitForCount(1);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kRefused);
  EXPECT_FALSE(ended[0].permanent);
  EXPECT_EQ(StatusCodeName(ended[0].code), std::string("OUT_OF_RANGE"));
  const auto responses = log.responses.Values();
  ASSERT_FALSE(responses.empty());
  EXPECT_TRUE(responses.back().canceled());
  EXPECT_EQ(responses.back().compact_revision(), compacted);
  watch->RequestProgress();
  EXPECT_EQ(log.ended.Values().size(), 1u);
}

// Plan: kill etcd: streams end once, as unknown; requests on them afterwards have no effect.
TEST_F(TransportStream, EndsOnceWhereEtcdDies) {
  ASSERT_TRUE(Grant(*transport_, 7, 30).status.ok());
  WatchLog watch_log;
  KeepAliveLog keepalive_log;
  const auto watch = transport_->OpenWatch(WatchFrom("w/", 1), "", watch_log.Handler());
  const auto keepalive = transport_->OpenKeepAlive(7, "", keepalive_log.Handler());
  keepalive->Send();
  ASSERT_TRUE(watch_log.WaitUntilCreated());
  ASSERT_EQ(keepalive_log.answers.WaitForCount(1).size(), 1u);
  etcd_->Kill(0);
  ASSERT_EQ(watch_log.ended.WaitForCount(1).size(), 1u);
  ASSERT_EQ(keepalive_log.ended.WaitForCount(1).size(), 1u);
  EXPECT_EQ(watch_log.ended.Values()[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(keepalive_log.ended.Values()[0].outcome, Outcome::kUnknown);
  watch->RequestProgress();
  keepalive->Send();
  keepalive->Send();
  transport_.reset();
  EXPECT_EQ(watch_log.ended.Values().size(), 1u);
  EXPECT_EQ(keepalive_log.ended.Values().size(), 1u);
}

// Plan: a watch's callback destroys its own handle at the first event, a keepalive's at its answer.
// The objects that the callback still uses live on, and no callback follows.
TEST_F(TransportStream, MayBeDestroyedInsideItsOwnCallback) {
  ASSERT_TRUE(Grant(*transport_, 7, 30).status.ok());
  std::mutex mutex;
  std::unique_ptr<WatchStream> watch;
  std::unique_ptr<KeepAliveStream> keepalive;
  Recorder<std::string> calls;
  const std::string kept = "a word long enough to live on the heap, held by the callback";
  {
    const std::lock_guard lock(mutex);
    watch = transport_->OpenWatch(WatchFrom("w/", 1), "",
                                  {.response =
                                       [&, kept](const etcdserverpb::WatchResponse& response) {
                                         if (response.events_size() == 0) return;
                                         const std::lock_guard inner(mutex);
                                         watch.reset();
                                         calls.Add(kept);
                                       },
                                   .ended = [&](const CallStatus&) { calls.Add("watch ended"); }});
    keepalive = transport_->OpenKeepAlive(
        7, "",
        {.answered =
             [&, kept](const etcdserverpb::LeaseKeepAliveResponse&) {
               const std::lock_guard inner(mutex);
               keepalive.reset();
               calls.Add(kept);
             },
         .ended = [&](const CallStatus&) { calls.Add("keepalive ended"); }});
    keepalive->Send();
  }
  PutAndTellRevision("w/1", "a");
  EXPECT_EQ(calls.WaitForCount(2), (std::vector<std::string>{kept, kept}));
  PutAndTellRevision("w/1", "b");
  transport_.reset();
  EXPECT_EQ(calls.Values().size(), 2u);
}

// Plan: the callback `ended` destroys the handle.
TEST_F(TransportStream, MayBeDestroyedInsideItsLastCallback) {
  std::mutex mutex;
  std::unique_ptr<WatchStream> watch;
  Recorder<std::string> calls;
  {
    const std::lock_guard lock(mutex);
    watch = transport_->OpenWatch(WatchFrom("w/", 1), "",
                                  {.response = [](const etcdserverpb::WatchResponse&) {},
                                   .ended =
                                       [&](const CallStatus&) {
                                         const std::lock_guard inner(mutex);
                                         watch.reset();
                                         calls.Add("ended");
                                       }});
  }
  etcd_->Kill(0);
  EXPECT_EQ(calls.WaitForCount(1).size(), 1u);
  // Until then the callback may hold the lock.
  transport_.reset();
}

// Plan: while events stream in, open and destroy 200 watches and keepalives at all stages of their
// life. No callback starts once a destructor has returned.
TEST_F(TransportStream, CallsBackNobodyAfterItsDestructor) {
  ASSERT_TRUE(Grant(*transport_, 7, 30).status.ok());
  const std::int64_t revision = PutAndTellRevision("w/1", "a");
  std::atomic<bool> late{false};
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> gone{false};
    const auto check = [&gone, &late](const auto&) {
      if (gone) late = true;
    };
    Recorder<int> seen;
    auto watch =
        transport_->OpenWatch(WatchFrom("w/", revision), "",
                              {.response =
                                   [&, check](const etcdserverpb::WatchResponse& response) {
                                     check(response);
                                     seen.Add(response.events_size());
                                   },
                               .ended = check});
    auto keepalive = transport_->OpenKeepAlive(
        7, "",
        {.answered =
             [&, check](const etcdserverpb::LeaseKeepAliveResponse& each) {
               check(each);
               seen.Add(-1);
             },
         .ended = check});
    keepalive->Send();
    // A third is destroyed at once, a third after the first callback, a third after all.
    seen.WaitForCount(static_cast<std::size_t>(i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 3));
    watch.reset();
    keepalive.reset();
    gone = true;
  }
  transport_.reset();
  EXPECT_FALSE(late);
}

// Plan: destroy the transport with open streams: each gets `ended` before the destructor returns;
// the handles may be used and destroyed after that.
TEST_F(TransportStream, IsToldItsEndBeforeTheTransportIsGone) {
  WatchLog watch_logs[20];
  KeepAliveLog keepalive_logs[20];
  std::vector<std::unique_ptr<WatchStream>> watches;
  std::vector<std::unique_ptr<KeepAliveStream>> keepalives;
  for (int i = 0; i < 20; ++i) {
    watches.push_back(transport_->OpenWatch(WatchFrom("w/", 1), "", watch_logs[i].Handler()));
    keepalives.push_back(transport_->OpenKeepAlive(7, "", keepalive_logs[i].Handler()));
  }
  ASSERT_TRUE(watch_logs[0].WaitUntilCreated());
  transport_.reset();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(watch_logs[i].ended.Values().size(), 1u);
    EXPECT_EQ(keepalive_logs[i].ended.Values().size(), 1u);
  }
  watches[0]->RequestProgress();
  keepalives[0]->Send();
}

}  // namespace
}  // namespace baton::etcd::test

// Changes that wait until their line is in the audit file: what may happen to their caller
// meanwhile.
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/admin_service.h"
#include "runtime/fake_control.h"

namespace baton::runtime {
namespace {

using access::Access;
using access::Role;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Stub = v1::AdminService::Stub;

/// An audit file that writes a line once the test says so. Thread-safe.
class HeldAudit {
 public:
  Audit::Sinks Sinks() {
    return {.write =
                [this](const AuditEntry& entry) {
                  const std::lock_guard lock(mutex_);
                  outcomes_.emplace_back(entry.result, entry.error);
                },
            .write_before =
                [this](const AuditEntry&, std::function<void(Status)> then) {
                  const std::lock_guard lock(mutex_);
                  waiting_.push_back(std::move(then));
                  changed_.notify_all();
                }};
  }
  /// Waits until so many changes wait for their lines.
  void Await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() >= count; });
  }
  void WriteAll() {
    std::vector<std::function<void(Status)>> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (const auto& then : waiting) then(Ok());
  }
  /// One line for each outcome: "done", or the error.
  std::vector<std::string> Outcomes() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (const auto& [result, error] : outcomes_) {
      lines.push_back(result == AuditEntry::Result::kDone ? "done" : error);
    }
    return lines;
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::function<void(Status)>> waiting_;
  std::vector<std::pair<AuditEntry::Result, std::string>> outcomes_;
};

/// Counts the calls that are over for the server, answered or given up by their callers.
class EndedCalls {
 public:
  void Add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  void Await(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return count_ >= count; });
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    count_ = 0;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;  // guarded by mutex_
};

class Closes final : public grpc::experimental::Interceptor {
 public:
  explicit Closes(EndedCalls& calls) : calls_(calls) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            grpc::experimental::InterceptionHookPoints::POST_RECV_CLOSE)) {
      calls_.Add();
    }
    methods->Proceed();
  }

 private:
  EndedCalls& calls_;
};

class ClosesFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ClosesFactory(EndedCalls& calls) : calls_(calls) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo*) override {
    return new Closes(calls_);
  }

 private:
  EndedCalls& calls_;
};

/// The service on a unix socket, whose callers have the role operate until a test says otherwise.
class AuditedChanges : public testing::Test {
 protected:
  AuditedChanges() {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-audit-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder_ + "/socket", grpc::InsecureServerCredentials());
    service_ = RegisterAdminService(builder, control_, {access_, nullptr}, {}, audit_.Sinks());
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> all;
    all.push_back(std::make_unique<ClosesFactory>(ended_));
    builder.experimental().SetInterceptorCreators(std::move(all));
    server_ = builder.BuildAndStart();
    stub_ = v1::AdminService::NewStub(
        grpc::CreateChannel("unix:" + folder_ + "/socket", grpc::InsecureChannelCredentials()));
    Connect();
    control_.FailActivation(ShardId{1}, 12, "no such table");
  }
  ~AuditedChanges() override {
    audit_.WriteAll();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// One change of each kind, all at once, which wait for their lines.
  class Changes {
   public:
    Changes(AuditedChanges& test, std::optional<milliseconds> within) {
      v1::TransferShardRequest transfer;
      transfer.set_to("n2");
      Begin(&Stub::TransferShard, test, transfer, within);
      v1::RetryShardRequest retry;
      retry.set_shard(1);
      Begin(&Stub::RetryShard, test, retry, within);
      v1::DrainNodeRequest drain;
      drain.set_node("n2");
      Begin(&Stub::DrainNode, test, drain, within);
      test.audit_.Await(kCount);
    }
    void Cancel() {
      for (const auto& context : contexts_) context->TryCancel();
    }
    std::vector<grpc::StatusCode> Codes() {
      std::vector<grpc::StatusCode> codes;
      for (auto& answer : answers_) codes.push_back(answer.get().error_code());
      return codes;
    }
    static constexpr int kCount = 3;

   private:
    template <typename Request, typename Response>
    void Begin(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
               AuditedChanges& test, const Request& request, std::optional<milliseconds> within) {
      contexts_.push_back(std::make_unique<grpc::ClientContext>());
      grpc::ClientContext* const context = contexts_.back().get();
      if (within) context->set_deadline(std::chrono::system_clock::now() + *within);
      answers_.push_back(
          std::async(std::launch::async, [stub = test.stub_.get(), method, context, request] {
            Response response;
            return (stub->*method)(context, request, &response);
          }));
    }

    std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
    std::vector<std::future<grpc::Status>> answers_;
  };

  /// So that later calls with a deadline need no time to connect.
  void Connect() {
    grpc::ClientContext context;
    v1::WhoAmIResponse response;
    EXPECT_TRUE(stub_->WhoAmI(&context, {}, &response).ok());
    ended_.Await(1);
    ended_.Forget();
  }
  void ExpectNothingChanged() {
    EXPECT_THAT(control_.Transfers(), IsEmpty());
    EXPECT_THAT(control_.Retries(), IsEmpty());
    EXPECT_THAT(control_.Policies(), IsEmpty());
  }

  FakeControl control_{{"n1", "n2"}, 4};
  HeldAudit audit_;
  EndedCalls ended_;
  const std::shared_ptr<Access> access_ =
      std::make_shared<Access>(Access::Defaults{.this_host = Role::kOperate});
  std::string folder_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Stub> stub_;
};

/// How records name who ordered a change.
std::string Named(access::Caller caller, std::string claimed) {
  return ActorOf({.caller = std::move(caller),
                  .verb = "DrainNode",
                  .target = {},
                  .claimed = std::move(claimed)});
}

// Plan: names of two-byte characters, one of them shifted by a byte; names that just fit; and a
// claim behind an address.
TEST(Audit, AnActorHasABoundAndIsCutBetweenCharacters) {
  const auto umlauts = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "\xC3\xA4";
    return text;
  };
  const auto certified = [](const std::string& name) {
    return Named({.peer = "ipv4:10.0.0.7:5", .certificate = name}, "alice");
  };
  EXPECT_EQ(certified(umlauts(100)), umlauts(62) + "...");
  EXPECT_EQ(certified("x" + umlauts(100)), "x" + umlauts(62) + "...");
  EXPECT_EQ(certified(umlauts(64)), umlauts(64));
  EXPECT_EQ(certified(std::string(kLongestActor, 'a')), std::string(kLongestActor, 'a'));
  EXPECT_EQ(certified(std::string(kLongestActor + 1, 'a')).size(), kLongestActor);
  EXPECT_EQ(Named({.peer = "ipv4:10.0.0.7:5"}, umlauts(64)),
            "ipv4:10.0.0.7:5, says " + umlauts(51) + "...");
}

// Plan: nothing happens to the caller meanwhile.
TEST_F(AuditedChanges, AreMadeOnceTheirLinesAreWritten) {
  Changes changes(*this, {});
  ExpectNothingChanged();
  audit_.WriteAll();
  EXPECT_THAT(changes.Codes(), ElementsAre(grpc::OK, grpc::OK, grpc::OK));
  EXPECT_THAT(control_.Transfers(), testing::SizeIs(1));
  EXPECT_THAT(control_.Retries(), testing::SizeIs(1));
  EXPECT_THAT(control_.Policies(), testing::SizeIs(1));
  EXPECT_THAT(audit_.Outcomes(), ElementsAre("done", "done", "done"));
}

// Plan: the caller's role is taken away while the changes wait.
TEST_F(AuditedChanges, NeedTheRoleWhenTheyAreMadeAsWell) {
  Changes changes(*this, {});
  access_->SetRules({.this_host = Role::kRead});
  audit_.WriteAll();
  constexpr auto kDenied = grpc::PERMISSION_DENIED;
  EXPECT_THAT(changes.Codes(), ElementsAre(kDenied, kDenied, kDenied));
  ExpectNothingChanged();
  const auto refused = HasSubstr("may not do this: it needs the role operate");
  EXPECT_THAT(audit_.Outcomes(), ElementsAre(refused, refused, refused));
}

// Plan: the caller hangs up, and the server knows it, before the lines are written.
TEST_F(AuditedChanges, AreNotMadeForWhoHasHungUp) {
  Changes changes(*this, {});
  changes.Cancel();
  ended_.Await(Changes::kCount);
  audit_.WriteAll();
  EXPECT_THAT(changes.Codes(), ElementsAre(grpc::CANCELLED, grpc::CANCELLED, grpc::CANCELLED));
  ExpectNothingChanged();
  const auto hung_up = HasSubstr("the caller has given it up: the change was not made");
  EXPECT_THAT(audit_.Outcomes(), ElementsAre(hung_up, hung_up, hung_up));
}

// Plan: the callers' deadline passes before the lines are written.
TEST_F(AuditedChanges, AreNotMadeAfterTheirDeadline) {
  Changes changes(*this, std::chrono::seconds(2));
  ended_.Await(Changes::kCount);
  audit_.WriteAll();
  constexpr auto kLate = grpc::DEADLINE_EXCEEDED;
  EXPECT_THAT(changes.Codes(), ElementsAre(kLate, kLate, kLate));
  ExpectNothingChanged();
  EXPECT_THAT(audit_.Outcomes(), testing::Each(HasSubstr("the change was not made")));
  EXPECT_THAT(audit_.Outcomes(), testing::SizeIs(Changes::kCount));
}

}  // namespace
}  // namespace baton::runtime

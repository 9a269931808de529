// The budget of answers that nobody reads, on a server of one method.
#include "runtime/admin/unread_answers.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.grpc.pb.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kBudget = 1 << 20;
constexpr std::size_t kAnswer = 300 << 10;

class Service final : public v1::AdminService::CallbackService {
 public:
  explicit Service(Duration patience) : answers({.bytes = kBudget, .patience = patience}) {}

  grpc::ServerUnaryReactor* DescribeShard(grpc::CallbackServerContext* context,
                                          const v1::DescribeShardRequest*,
                                          v1::DescribeShardResponse* response) override {
    auto* const answer = answers.Begin(*context, *response);
    if (answers.Full(UnreadAnswers::Caller::kUsual)) {
      answer->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too much is unread"});
    } else {
      response->set_group(std::string(kAnswer, 'x'));
      answer->Finish(grpc::Status::OK);
    }
    return answer;
  }

  UnreadAnswers answers;
};

/// A caller that makes room for nothing.
class StillCaller {
 public:
  explicit StillCaller(const std::string& endpoint) {
    grpc::ChannelArguments narrow;
    narrow.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    narrow.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 10);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), narrow));
    call_ = stub_->PrepareCall(&context_, "/baton.v1.AdminService/DescribeShard", &queue_);
    call_->StartCall(this);
    Next();
    const grpc::Slice empty;
    call_->WriteLast(grpc::ByteBuffer(&empty, 1), grpc::WriteOptions(), this);
    Next();
  }
  ~StillCaller() {
    context_.TryCancel();
    grpc::Status status;
    call_->Finish(&status, this);
    Next();
    queue_.Shutdown();
  }
  StillCaller(const StillCaller&) = delete;
  StillCaller& operator=(const StillCaller&) = delete;

 private:
  void Next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

class UnreadAnswersTest : public testing::Test {
 protected:
  void Serve(Duration patience) {
    service_ = std::make_unique<Service>(patience);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    endpoint_ = "127.0.0.1:" + std::to_string(port);
  }
  ~UnreadAnswersTest() override {
    callers_.clear();
    server_->Shutdown();
    server_->Wait();
  }

  void LeaveUnread(int count) {
    for (int i = 0; i < count; ++i) callers_.push_back(std::make_unique<StillCaller>(endpoint_));
  }
  grpc::StatusCode Ask() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::DescribeShardResponse response;
    return v1::AdminService::NewStub(
               grpc::CreateChannel(endpoint_, grpc::InsecureChannelCredentials()))
        ->DescribeShard(&context, {}, &response)
        .error_code();
  }
  /// Waits until `condition` holds.
  static bool Eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  UnreadAnswers& answers() { return service_->answers; }

  std::vector<std::unique_ptr<StillCaller>> callers_;

 private:
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string endpoint_;
};

// Four answers use the budget up. Those who read are refused until the others have gone.
TEST_F(UnreadAnswersTest, ShareABudget) {
  Serve(std::chrono::hours(1));
  LeaveUnread(4);
  ASSERT_TRUE(Eventually([&] { return answers().bytes() >= 4 * kAnswer; }));
  LeaveUnread(3);
  EXPECT_EQ(Ask(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Eventually([&] { return answers().counts()->refused == 4; }));
  EXPECT_LT(answers().bytes(), kBudget + kAnswer + 1024);
  callers_.clear();
  EXPECT_TRUE(Eventually([&] { return Ask() == grpc::StatusCode::OK; }));
  EXPECT_TRUE(Eventually([&] { return answers().bytes() == 0; }));
  EXPECT_EQ(answers().counts()->cut_off, 0u);
}

// The patience is over at once: who comes next is refused, and makes room for those after it.
TEST_F(UnreadAnswersTest, AreGivenUpInTime) {
  Serve(Duration{0});
  LeaveUnread(4);
  ASSERT_TRUE(Eventually([&] { return answers().bytes() >= 4 * kAnswer; }));
  EXPECT_EQ(Ask(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Eventually([&] { return Ask() == grpc::StatusCode::OK; }));
  EXPECT_EQ(answers().counts()->cut_off, 4u);
}

}  // namespace
}  // namespace baton::runtime

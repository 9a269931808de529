// The admin service's answers to each role: each method of the proto, called by callers with and
// without the role that it needs.
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/admin_service.h"
#include "runtime/admin_methods.h"
#include "runtime/fake_control.h"

namespace baton::runtime {
namespace {

using access::Access;
using access::Role;

/// The service on a unix socket, whose callers have this role.
class ServerFor {
 public:
  explicit ServerFor(Role role) {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-access-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
    service_ = RegisterAdminService(
        builder, control, {std::make_shared<Access>(Access::Defaults{.this_host = role}), nullptr},
        {}, {.write = [this](const AuditEntry& entry) { audited = entry.change.target; }});
    server_ = builder.BuildAndStart();
  }
  ~ServerFor() {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Calls a method with this request, by default with an empty one.
  grpc::Status Call(const std::string& method, const std::string& message = "") {
    return CallAnyMethod(address(), method, message);
  }

  FakeControl control{{"n1", "n2"}, 4};
  std::string audited;  ///< the target of the last change or refusal, before Call returned

 private:
  std::string address() const { return "unix:" + folder_ + "/socket"; }

  std::string folder_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
};

// Plan: each method is refused without its role, and only then.
TEST(AdminAccess, EachMethodAsksForTheRoleOfItsRow) {
  for (const Role role : access::kRoles) {
    ServerFor server(role);
    ASSERT_GE(Methods().size(), 15U);
    for (const auto* method : Methods()) {
      const bool may = access::Includes(role, access::RoleFor(method->name()).value());
      if (may && method->server_streaming()) continue;  // would not end
      const grpc::Status status = server.Call(PathOf(*method));
      const bool refused = status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
      EXPECT_EQ(refused, !may) << method->name() << " for " << ToString(role) << ": "
                               << status.error_message();
    }
    EXPECT_EQ(!server.control.Policies().empty(), access::Includes(role, Role::kOperate))
        << ToString(role);
  }
}

// Plan: rules and labels can be long. Of callers without the role nothing of them is read: the
// audit knows how many rules there were, though they are wrong, and no label. Of others all is
// read.
TEST(AdminAccess, LongRequestsAreReadForCallersWithTheRoleAlone) {
  const std::string service = "/baton.v1.AdminService/";
  v1::ChangeGroupRequest rules;
  for (int i = 0; i < 2; ++i) rules.mutable_placement()->add_rules()->set_standbys(1000);
  v1::SetNodeRequest labels;
  labels.set_node("n1");
  (*labels.mutable_labels())["disk"] = "ssd";
  ServerFor reader(Role::kRead);
  EXPECT_EQ(reader.Call(service + "ChangeGroup", rules.SerializeAsString()).error_code(),
            grpc::PERMISSION_DENIED);
  EXPECT_EQ(reader.audited, "placement 2 rules");
  EXPECT_EQ(reader.Call(service + "SetNode", labels.SerializeAsString()).error_code(),
            grpc::PERMISSION_DENIED);
  EXPECT_EQ(reader.audited, "node n1");
  ServerFor admin(Role::kAdmin);
  EXPECT_EQ(admin.Call(service + "ChangeGroup", rules.SerializeAsString()).error_code(),
            grpc::INVALID_ARGUMENT);
  EXPECT_EQ(admin.audited, "placement 2 rules");
  admin.Call(service + "SetNode", labels.SerializeAsString());
  EXPECT_EQ(admin.audited.find("node n1: "), 0U) << admin.audited;
}

// Plan: whatever takes an actor changes something, so it must not be open to readers.
TEST(AdminAccess, WhateverNamesAnActorNeedsTheRoleOperateOrAdmin) {
  for (const auto* method : Methods()) {
    const auto role = access::RoleFor(method->name());
    EXPECT_EQ(NamesAnActor(*method), role == Role::kOperate || role == Role::kAdmin)
        << method->full_name();
  }
}

// Plan: what decides whose data counts is not for those who only move shards.
// Labels decide which rules let a node lead, as the rules themselves do.
TEST(AdminAccess, FailoverPlacementAndReleasesNeedTheRoleAdmin) {
  EXPECT_EQ(access::RoleFor("ChangeGroup"), Role::kAdmin);
  EXPECT_EQ(access::RoleFor("SetNode"), Role::kAdmin);
  EXPECT_EQ(access::RoleFor("ReleaseShard"), Role::kAdmin);
}

// Plan: programs that embed a node name who may make changes, or nobody.
TEST(AdminAccess, AProgramThatEmbedsANodeNamesItsOperators) {
  const auto may = [](const AdminOptions& options, const std::string& peer,
                      const std::string& certificate) {
    const access::Gate gate = GateOf(options);
    const access::Caller caller = gate.CallerAt(peer, {.name = certificate});
    EXPECT_FALSE(gate.Refusal(caller, "GetStatus")) << peer << certificate;
    EXPECT_EQ(!gate.Refusal(caller, "DrainNode"), !gate.Refusal(caller, "ReleaseShard"));
    return !gate.Refusal(caller, "DrainNode");
  };
  const std::string here = "ipv4:127.0.0.1:5";
  const std::string there = "ipv4:10.0.0.1:5";
  EXPECT_TRUE(may({}, here, ""));
  EXPECT_FALSE(may({}, there, "cn:bob"));
  const AdminOptions named{.allow_remote = true,
                           .operators = std::vector<std::string>{"cn:bob", "spiffe://x/ops/*"}};
  for (const std::string& peer : {here, there}) {
    EXPECT_TRUE(may(named, peer, "cn:bob"));
    EXPECT_TRUE(may(named, peer, "spiffe://x/ops/alice"));
    for (const char* other : {"", "cn:bobby", "spiffe://x/app"}) {
      EXPECT_FALSE(may(named, peer, other)) << peer << other;
      EXPECT_FALSE(may({.operators = std::vector<std::string>()}, peer, other)) << peer << other;
    }
    EXPECT_FALSE(may({.operators = std::vector<std::string>()}, peer, "cn:bob"));
  }
}

/// Examinations go on until the test ends them.
class SlowControl final : public FakeControl {
 public:
  using FakeControl::FakeControl;
  void Examine(ExamineRequest, std::function<void(Result<Diagnosis>)> handler) override {
    const std::lock_guard lock(mutex_);
    examinations_.push_back(std::move(handler));
    changed_.notify_all();
  }
  /// Waits until so many have begun since the last End.
  void Await(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return examinations_.size() >= count; });
  }
  void End() {
    const std::lock_guard lock(mutex_);
    for (const auto& handler : examinations_) handler(Diagnosis{});
    examinations_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void(Result<Diagnosis>)>> examinations_;  // guarded by mutex_
};

/// The service at a port, whose callers may read, and at a unix socket, whose callers may do all.
class Examined : public testing::Test {
 protected:
  Examined() {
    std::string pattern = (std::filesystem::temp_directory_path() / "baton-access-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const auto callers = std::make_shared<access::Callers>();
    callers->TrustUnixSockets();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.AddListeningPort("unix:" + folder_ + "/socket", grpc::InsecureServerCredentials());
    service_ = RegisterAdminService(builder, control_,
                                    {std::make_shared<Access>(Access::Defaults{}), callers});
    server_ = builder.BuildAndStart();
    reader_ = Dial("127.0.0.1:" + std::to_string(port));
    operator_ = Dial("unix:" + folder_ + "/socket");
  }
  ~Examined() override {
    control_.End();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  using Stub = std::unique_ptr<v1::AdminService::Stub>;
  static Stub Dial(const std::string& address) {
    return v1::AdminService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  }
  static std::future<grpc::Status> Diagnose(const Stub& stub) {
    return std::async(std::launch::async, [&stub] {
      grpc::ClientContext context;
      v1::DiagnoseResponse response;
      return stub->Diagnose(&context, {}, &response);
    });
  }

  SlowControl control_{{"n1"}, 4};
  std::string folder_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  Stub reader_;
  Stub operator_;
};

// Plan: two readers have the node examined. A third one is refused, and operators are not.
TEST_F(Examined, ReadersLeavePlacesToOperators) {
  std::vector<std::future<grpc::Status>> running;
  for (int i = 0; i < kMaxDiagnosesOfReaders; ++i) running.push_back(Diagnose(reader_));
  control_.Await(running.size());
  const grpc::Status refused = Diagnose(reader_).get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("is being examined for others"));
  for (int i = 0; i < 3; ++i) running.push_back(Diagnose(operator_));
  control_.Await(running.size());
  control_.End();
  for (auto& one : running) EXPECT_TRUE(one.get().ok());
}

// Plan: one reader asks once more than it may. Meanwhile none is running.
TEST_F(Examined, AReaderAsksSeldomAndOperatorsAsTheyLike) {
  const auto burst = access::CallLimits::LimitOf(access::CallLimits::Kind::kDiagnose).burst;
  for (std::uint32_t i = 0; i < burst + 2; ++i) {
    auto asked = Diagnose(i < burst ? reader_ : operator_);
    control_.Await(1);
    control_.End();
    EXPECT_TRUE(asked.get().ok());
  }
  const grpc::Status refused = Diagnose(reader_).get();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("at most one examination in 10 s"));
}

}  // namespace
}  // namespace baton::runtime

// Who gets what from the admin service: each method of the proto, called by callers with and
// without the role that it needs.
#include <cstdlib>
#include <filesystem>
#include <future>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/admin_service.h"
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
        builder, control, {std::make_shared<Access>(Access::Defaults{.this_host = role}), nullptr});
    server_ = builder.BuildAndStart();
  }
  ~ServerFor() {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// Calls a method with an empty request.
  grpc::Status Call(const std::string& method) {
    grpc::GenericStub stub(grpc::CreateChannel(address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const grpc::ByteBuffer request(nullptr, 0);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, {}, &request, &response,
                   [&](const grpc::Status& status) { done.set_value(status); });
    return done.get_future().get();
  }

  FakeControl control{{"n1", "n2"}, 4};

 private:
  std::string address() const { return "unix:" + folder_ + "/socket"; }

  std::string folder_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
};

std::vector<const google::protobuf::MethodDescriptor*> Methods() {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  const auto* service =
      v1::GetStatusRequest::descriptor()->file()->FindServiceByName("AdminService");
  for (int m = 0; m < service->method_count(); ++m) {
    methods.push_back(service->method(m));
  }
  return methods;
}

std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

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

// Plan: whatever takes an actor changes something, so it must not be open to readers.
TEST(AdminAccess, WhateverNamesAnActorNeedsTheRoleOperate) {
  for (const auto* method : Methods()) {
    const bool names = method->input_type()->FindFieldByName("actor") != nullptr;
    EXPECT_EQ(names, access::RoleFor(method->name()) == Role::kOperate) << method->full_name();
  }
}

}  // namespace
}  // namespace baton::runtime

// The methods of the admin service, from the proto's descriptors, and a call of any of them.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "baton/v1/admin.grpc.pb.h"

namespace baton::runtime {

inline std::vector<const google::protobuf::MethodDescriptor*> Methods() {
  std::vector<const google::protobuf::MethodDescriptor*> methods;
  const auto* service =
      v1::GetStatusRequest::descriptor()->file()->FindServiceByName("AdminService");
  for (int m = 0; m < service->method_count(); ++m) methods.push_back(service->method(m));
  return methods;
}

/// Whether requests of this method say who asks: such methods change something.
inline bool NamesAnActor(const google::protobuf::MethodDescriptor& method) {
  return method.input_type()->FindFieldByName("actor") != nullptr;
}

inline std::string PathOf(const google::protobuf::MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

/// Calls the method with this path. `message`: the encoded request.
inline grpc::Status CallAnyMethod(const std::string& address, const std::string& path,
                                  const std::string& message) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, path, {}, &request, &response,
                 [&](const grpc::Status& status) { done.set_value(status); });
  return done.get_future().get();
}

}  // namespace baton::runtime

// The ways in which a caller can make a gRPC call: blocking, with callbacks, with a completion
// queue, and as streams. Also a server of bidirectional streams.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "baton/v1/routing.grpc.pb.h"
#include "baton/v1/sidecar.grpc.pb.h"
#include "routing/scripted_routes.h"

namespace baton::routing {

using Channel = std::shared_ptr<grpc::Channel>;
using Form = std::function<grpc::Status(const Channel&, grpc::ClientContext&)>;

inline grpc::Status Blocking(const Channel& channel, grpc::ClientContext& context) {
  v1::LookupResponse response;
  return v1::RoutingService::NewStub(channel)->Lookup(&context, {}, &response);
}

inline grpc::Status Callback(const Channel& channel, grpc::ClientContext& context) {
  const auto stub = v1::RoutingService::NewStub(channel);
  const v1::LookupRequest request;
  v1::LookupResponse response;
  std::promise<grpc::Status> answered;
  stub->async()->Lookup(&context, &request, &response,
                        [&](grpc::Status status) { answered.set_value(std::move(status)); });
  return answered.get_future().get();
}

inline grpc::Status Queued(const Channel& channel, grpc::ClientContext& context) {
  grpc::CompletionQueue queue;
  v1::LookupResponse response;
  grpc::Status status;
  const auto call =
      v1::RoutingService::NewStub(channel)->AsyncLookup(&context, v1::LookupRequest(), &queue);
  call->Finish(&response, &status, &queue);
  void* tag = nullptr;
  bool done = false;
  EXPECT_TRUE(queue.Next(&tag, &done));
  EXPECT_EQ(tag, &queue);
  return status;
}

inline grpc::Status Stream(const Channel& channel, grpc::ClientContext& context) {
  const auto reader = v1::RoutingService::NewStub(channel)->WatchRoutes(&context, {});
  v1::WatchRoutesResponse message;
  while (reader->Read(&message)) {
  }
  return reader->Finish();
}

/// Reads a stream until it ends.
class Reading : public grpc::ClientReadReactor<v1::WatchRoutesResponse> {
 public:
  void OnReadDone(bool more) override {
    if (more) StartRead(&message);
  }
  void OnDone(const grpc::Status& status) override { ended.set_value(status); }
  v1::WatchRoutesResponse message;
  std::promise<grpc::Status> ended;
};

inline grpc::Status CallbackStream(const Channel& channel, grpc::ClientContext& context) {
  const auto stub = v1::RoutingService::NewStub(channel);
  const v1::WatchRoutesRequest request;
  Reading reading;
  stub->async()->WatchRoutes(&context, &request, &reading);
  reading.StartRead(&reading.message);
  reading.StartCall();
  return reading.ended.get_future().get();
}

/// A server of bidirectional streams. It answers each message, or refuses the stream at once.
class ConversationServer final : private v1::SidecarService::Service {
 public:
  ConversationServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ConversationServer() { server_->Shutdown(std::chrono::system_clock::now()); }

  Channel ChannelTo(const Router& router) const {
    return ChannelOf(router, "127.0.0.1:" + std::to_string(port_));
  }
  void Answer(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
  }
  SaidMetadata LastSaid() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  grpc::Status Attach(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::AttachResponse, v1::AttachRequest>* stream) override {
    {
      const std::lock_guard lock(mutex_);
      said_ = SaidIn(*context);
      if (!status_.ok()) return status_;
    }
    v1::AttachRequest message;
    while (stream->Read(&message)) stream->Write({});
    return grpc::Status::OK;
  }

  std::mutex mutex_;
  SaidMetadata said_;    // guarded by mutex_
  grpc::Status status_;  // guarded by mutex_
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

inline grpc::Status Conversation(const Channel& channel, grpc::ClientContext& context) {
  const auto stream = v1::SidecarService::NewStub(channel)->Attach(&context);
  v1::AttachResponse answer;
  stream->Write({});
  if (stream->Read(&answer)) stream->WritesDone();
  while (stream->Read(&answer)) {
  }
  return stream->Finish();
}

/// Sends one message, and reads until the server ends the stream.
class Conversing : public grpc::ClientBidiReactor<v1::AttachRequest, v1::AttachResponse> {
 public:
  void OnReadDone(bool more) override {
    if (more) StartRead(&answer);
  }
  void OnDone(const grpc::Status& status) override { ended.set_value(status); }
  v1::AttachRequest word;
  v1::AttachResponse answer;
  std::promise<grpc::Status> ended;
};

inline grpc::Status CallbackConversation(const Channel& channel, grpc::ClientContext& context) {
  const auto stub = v1::SidecarService::NewStub(channel);
  Conversing conversing;
  stub->async()->Attach(&context, &conversing);
  conversing.StartWriteLast(&conversing.word, {});
  conversing.StartRead(&conversing.answer);
  conversing.StartCall();
  return conversing.ended.get_future().get();
}

struct NamedForm {
  const char* name;
  Form call;
  bool is_stream;
};
inline const NamedForm kForms[] = {{"blocking", Blocking, false},
                                   {"callback", Callback, false},
                                   {"completion queue", Queued, false},
                                   {"stream", Stream, true},
                                   {"callback stream", CallbackStream, true}};

}  // namespace baton::routing

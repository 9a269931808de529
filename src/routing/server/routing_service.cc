#include "routing/server/routing_service.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/grpc/freed_requests.h"
#include "baton/v1/routing.grpc.pb.h"
#include "runtime/admin/grpc_access.h"

namespace baton::routing {
namespace {

using Context = grpc::CallbackServerContext;

/// Shares the bytes with all streams: gRPC drops its reference once they are sent.
grpc::Slice SliceOf(const Bytes& bytes) {
  auto* const held = new Bytes(bytes);
  return {const_cast<char*>(bytes->data()), bytes->size(),
          [](void* done) { delete static_cast<Bytes*>(done); }, held};
}

grpc::ByteBuffer BufferOf(const RouteMessage& message) {
  std::vector<grpc::Slice> slices;
  slices.reserve(message.parts.size());
  for (const Bytes& part : message.parts) slices.push_back(SliceOf(part));
  return {slices.data(), slices.size()};
}

/// One caller's stream. It deletes itself in OnDone.
class Stream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public RouteSink {
 public:
  Stream(std::shared_ptr<RouteServer> routes, Context& context)
      : routes_(std::move(routes)), context_(context) {}

  void Begin(const grpc::ByteBuffer& bytes, access::StreamPlaces::Place place) {
    place_ = std::move(place);
    grpc::ByteBuffer copy(bytes);
    v1::WatchRoutesRequest request;
    if (!grpc::SerializationTraits<v1::WatchRoutesRequest>::Deserialize(&copy, &request).ok()) {
      return Finish({grpc::StatusCode::INVALID_ARGUMENT,
                     "the request is not a baton.v1.WatchRoutesRequest: see routing.proto"});
    }
    if (request.after_revision() < 0) {
      return Finish({grpc::StatusCode::INVALID_ARGUMENT,
                     "after_revision is negative; expected complete_to of the last message, or 0"});
    }
    admitted_ = routes_->Watch(*this, {.group = request.group(),
                                       .after = Revision{request.after_revision()},
                                       .incarnation = request.cluster()});
    if (admitted_) return;
    Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
            "too many watchers, or the server is stopping: ask another node or relay"});
  }

  // RouteSink.
  void Write(const RouteMessage& message) override {
    buffer_ = BufferOf(message);
    writing_.store(true);
    StartWrite(&buffer_);
  }
  // A pending write to a caller that does not read would delay the end, so the call is cancelled.
  void End(const Error& why) override {
    if (writing_.load()) context_.TryCancel();
    Finish(runtime::StatusOf(why));
  }

  // ServerWriteReactor.
  void OnWriteDone(bool sent) override {
    writing_.store(false);
    routes_->Written(*this, sent);
  }
  void OnCancel() override {
    if (admitted_) routes_->Cancel(*this);
  }
  void OnDone() override {
    if (admitted_) routes_->WatcherEnded();
    delete this;
  }

 private:
  const std::shared_ptr<RouteServer> routes_;
  Context& context_;         // lives until OnDone
  grpc::ByteBuffer buffer_;  // the message in flight
  std::atomic<bool> writing_{false};
  access::StreamPlaces::Place place_;
  bool admitted_ = false;  // set before OnCancel and OnDone can come
};

void Fill(const runtime::RouteNode& node, v1::RouteNode* proto) {
  proto->set_node(node.node);
  proto->set_address(node.address);
}

void Fill(const RouteList& list, v1::LookupResponse* response) {
  const runtime::ViewRoute& route = list.routes.front();
  response->set_group(list.group->group);
  *response->mutable_mapping() = MappingOf(*list.group);
  *response->mutable_route() = ToProto(route);
  response->set_revision(list.revision.value);
  *response->mutable_age() = ToProto(list.age);
  if (route.leader != nullptr) {
    response->mutable_route()->set_leader(1);
    Fill(*route.leader, response->mutable_leader());
  }
  if (route.standbys == nullptr) return;
  for (const runtime::ViewStandby& standby : *route.standbys) {
    Fill(*standby.node, response->add_standbys());
  }
}

using Methods = v1::RoutingService::WithCallbackMethod_Lookup<
    v1::RoutingService::WithRawCallbackMethod_WatchRoutes<v1::RoutingService::Service>>;

class Service final : public Methods, public CountingRoutingService {
 public:
  Service(std::shared_ptr<RouteServer> routes, access::Gate gate,
          access::StreamPlaces::Bounds places)
      : routes_(std::move(routes)),
        gate_(std::move(gate)),
        places_(std::make_shared<access::StreamPlaces>(places)) {
    FreeableRequests(*this, &Service::SetMessageAllocatorFor_Lookup);
  }
  ~Service() override { routes_->Shutdown(); }

  void Shutdown() override { routes_->Shutdown(); }
  std::shared_ptr<const access::StreamPlaces> places() const override { return places_; }
  grpc::Service& service() override { return *this; }

  grpc::ServerUnaryReactor* Lookup(Context* context, const v1::LookupRequest* request,
                                   v1::LookupResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (const auto refusal = runtime::RefuseRead(gate_, *context, "Lookup")) {
      reactor->Finish(*refusal);
      return reactor;
    }
    if (request->of_case() == v1::LookupRequest::OF_NOT_SET) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT,
                       "the request has neither shard nor key; expected one of them"});
      return reactor;
    }
    RouteServer::Question question = ShardId{request->shard()};
    if (request->of_case() == v1::LookupRequest::kKey) question = request->key();
    routes_->Lookup(request->group(), std::move(question),
                    [reactor, response](Result<RouteList> answer) {
                      if (!answer) return reactor->Finish(runtime::StatusOf(answer.error()));
                      Fill(answer.value(), response);
                      reactor->Finish(grpc::Status::OK);
                    });
    return reactor;
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchRoutes(
      Context* context, const grpc::ByteBuffer* request) override {
    auto* const stream = new Stream(routes_, *context);
    const access::Caller caller = runtime::CallerOf(gate_, *context);
    if (auto refused = gate_.RefuseRead(caller, "WatchRoutes")) {
      stream->Finish(runtime::StatusOf(*std::move(refused)));
    } else if (auto place = places_->Take(caller, gate_.RoleOf(caller))) {
      stream->Begin(*request, *std::move(place));
    } else {
      stream->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                      "you watch routes too often here, or all who may not operate do: ask another "
                      "node or relay"});
    }
    return stream;
  }

 private:
  const std::shared_ptr<RouteServer> routes_;
  const access::Gate gate_;
  const std::shared_ptr<access::StreamPlaces> places_;
};

}  // namespace

std::unique_ptr<CountingRoutingService> RegisterRoutingService(
    grpc::ServerBuilder& builder, std::shared_ptr<RouteServer> routes, access::Gate gate,
    access::StreamPlaces::Bounds places) {
  auto service = std::make_unique<Service>(std::move(routes), std::move(gate), places);
  builder.RegisterService(static_cast<grpc::Service*>(service.get()));
  return service;
}

}  // namespace baton::routing

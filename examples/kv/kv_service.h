// The gRPC service. It checks that this node leads the request's shard, then serves the request.
#pragma once

#include <baton/owner_guard.h>

#include <functional>

#include "kv.grpc.pb.h"
#include "shards.h"

namespace kv {

namespace api = baton::examples::kv;

class KvService final : public api::Kv::Service {
 public:
  /// Both arguments must outlive the service.
  KvService(baton::OwnerGuard& guard, Shards& shards) : guard_(guard), shards_(shards) {}

  grpc::Status Put(grpc::ServerContext* context, const api::PutRequest* request,
                   api::PutResponse* response) override;
  grpc::Status Get(grpc::ServerContext* context, const api::GetRequest* request,
                   api::GetResponse* response) override;
  grpc::Status Increment(grpc::ServerContext* context, const api::IncrementRequest* request,
                         api::IncrementResponse* response) override;

 private:
  using Work = std::function<void(const baton::Owned&, ShardStore&)>;
  grpc::Status Serve(const grpc::ServerContext& context, const std::string& key, const Work& work);

  baton::OwnerGuard& guard_;
  Shards& shards_;
};

}  // namespace kv

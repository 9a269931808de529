#include "base/grpc/server_limits.h"

#include <grpcpp/resource_quota.h>

namespace baton {

void SetServerLimits(grpc::ServerBuilder& builder, const ServerLimits& limits) {
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.SetMaxReceiveMessageSize(limits.message);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadata);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kMaxReadAtOnce);
  builder.AddChannelArgument(GRPC_ARG_TCP_MIN_READ_CHUNK_SIZE, kMaxReadAtOnce);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadAtOnce);
  grpc::ResourceQuota quota("baton");
  quota.Resize(limits.memory);
  if (limits.threads > 0) quota.SetMaxThreads(limits.threads);
  builder.SetResourceQuota(quota);
}

}  // namespace baton

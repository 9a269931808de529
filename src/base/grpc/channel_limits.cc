#include "base/grpc/channel_limits.h"

#include <grpc/compression.h>

namespace baton {

void LimitChannel(grpc::ChannelArguments& arguments) {
  constexpr int kIdentityAlone = 1 << GRPC_COMPRESS_NONE;
  // Either alone is not enough: without the second, gRPC opens what the first forbids.
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, kIdentityAlone);
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

}  // namespace baton

// OperatorRequests: transfers and policies that operators asked this node to write.
//
// Each request is answered exactly once: at once if it is refused, else when its write is definite
// or the node stops. At most kMaxRequests wait at the same time.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "core/context.h"

namespace baton::core {

class OperatorRequests {
 public:
  static constexpr std::size_t kMaxRequests = 64;

  void On(Context& context, const TransferRequested& event);
  void On(Context& context, const PolicyRequested& event);
  /// REQUIRES: the view has merged what the write read back.
  void On(Context& context, OperationId operation, const PendingWrites::Settled& settled,
          const WriteResult& result);
  /// Answers the requests that are still waiting with an error: this node stops.
  void DropAll(Context& context);

  /// Requests that were refused because too many were waiting already.
  std::uint64_t refused() const { return refused_; }

 private:
  struct PolicyRequest {
    RequestId request = 0;
    int attempts = 0;  ///< left, including this one
  };

  bool Full() const { return transfers_.size() + policies_.size() >= kMaxRequests; }
  void Finish(Context& context, RequestId request, const MoveBatch& write,
              const WriteResult& result);
  void Finish(Context& context, PolicyRequest asked, const PendingWrites::Settled& settled,
              const WriteResult& result);

  std::map<OperationId, RequestId> transfers_;
  std::map<OperationId, PolicyRequest> policies_;
  std::uint64_t refused_ = 0;
};

}  // namespace baton::core

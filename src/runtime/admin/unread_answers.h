// UnreadAnswers: bounds the bytes of a service's answers that callers have not read yet.
//
// gRPC keeps an answer until the caller has read it or has disconnected. A caller may do neither.
// While the budget is used up, the service refuses new calls before it makes their answers (Full).
// Each refusal also cuts off the answers that were not read within UnreadLimits::patience. While
// the budget is not used up, no answer is cut off.
//
// Thread-safe, except for the destructor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include "base/clock.h"

namespace baton::runtime {

struct UnreadLimits {
  /// The budget, in serialized bytes of answers. Answers with shards take about seven times as much
  /// memory, because gRPC keeps a message beside its bytes. The budget is checked before an answer
  /// is made, so an answer of any size may exceed it: 1,000,000 shards are 100 MiB.
  std::size_t bytes = 16 << 20;
  /// How long a caller may take to read an answer while the budget is used up.
  Duration patience = std::chrono::seconds(30);
};

/// Counts since the service started. Any thread may read them.
struct UnreadCounts {
  std::atomic<std::uint64_t> refused{0};  ///< calls refused while the budget was used up
  std::atomic<std::uint64_t> cut_off{0};  ///< answers cut off because they were not read in time
};

class UnreadAnswers {
 public:
  explicit UnreadAnswers(UnreadLimits limits = {}) : limits_(limits) {}

  /// The reactor of one call. Pass it to gRPC. It deletes itself in OnDone, which gRPC calls at the
  /// end of the call.
  class Answer final : public grpc::ServerUnaryReactor {
   public:
    /// Ends the call with `status`. If `status` is OK, sends `response` of Begin as the answer, and
    /// counts its bytes until OnDone. OnDone comes when the caller has read the answer, has
    /// disconnected, or was cut off. Any thread. Hides the base's Finish. REQUIRES: called once;
    /// `response` is complete. Don't use this object afterwards.
    void Finish(const grpc::Status& status);
    void OnDone() override;

   private:
    friend class UnreadAnswers;
    Answer(UnreadAnswers& owner, grpc::CallbackServerContext& context,
           const google::protobuf::MessageLite& response)
        : owner_(owner), context_(context), response_(response) {}

    UnreadAnswers& owner_;
    grpc::CallbackServerContext& context_;           // lives until OnDone
    const google::protobuf::MessageLite& response_;  // lives until OnDone
    std::size_t bytes_ = 0;                          // guarded by the owner's mutex
    TimePoint since_{};
    std::list<Answer*>::iterator place_;
    bool kept_ = false;
    bool cut_off_ = false;
  };

  /// Returns the reactor of a call whose answer will be in `response`. Never returns null.
  /// REQUIRES: this object outlives the server; gRPC keeps `context` and `response` until OnDone.
  Answer* Begin(grpc::CallbackServerContext& context,
                const google::protobuf::MessageLite& response);
  /// A kUsual caller is refused once the unread answers have reached the budget. A kFirst caller,
  /// an operator, is refused only at twice the budget. So usual callers can't keep operators out.
  enum class Caller { kUsual, kFirst };
  /// Call it before an answer is made. Returns whether to refuse the caller, because too much is
  /// unread. If so, counts the refusal, and cuts off the answers that were not read in time. Their
  /// callers get CANCELLED. Cutting them off makes room only for later calls.
  bool Full(Caller caller);

  /// The counts, which may outlive this object.
  std::shared_ptr<const UnreadCounts> counts() const { return counts_; }
  /// The serialized bytes of the unread answers.
  std::size_t bytes() const;

 private:
  void Keep(Answer& answer);
  void Drop(Answer& answer);

  const UnreadLimits limits_;
  const std::shared_ptr<UnreadCounts> counts_ = std::make_shared<UnreadCounts>();
  mutable std::mutex mutex_;    // guards what follows, and the answers' own
  std::list<Answer*> answers_;  // sent and unread, the oldest first
  std::size_t bytes_ = 0;
};

}  // namespace baton::runtime

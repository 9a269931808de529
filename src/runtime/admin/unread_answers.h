// UnreadAnswers: the answers of a service that callers have not read yet, within a budget of bytes.
//
// gRPC keeps an answer until its caller has read it or has disconnected, and a caller may do
// neither. While the budget is used up, new calls are refused before their answers are made (Full).
// Each such refusal also cuts off the answers that were not read within UnreadLimits::patience.
// Below the budget, unread answers harm nobody, and no answer is cut off.
//
// Thread-safe.
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
  /// The budget, in serialized bytes of answers. gRPC keeps the message as well, so answers with
  /// shards cost about seven times these bytes. The budget is checked before an answer is made. So
  /// an answer may exceed it, by any size: 1,000,000 shards are 100 MiB.
  std::size_t bytes = 16 << 20;
  Duration patience = std::chrono::seconds(30);  ///< the same as HTTP's for slow readers
};

/// Counts since the service started. Any thread may read them.
struct UnreadCounts {
  std::atomic<std::uint64_t> refused{0};  ///< calls refused while the budget was used up
  std::atomic<std::uint64_t> cut_off{0};  ///< answers cut off because they were not read in time
};

class UnreadAnswers {
 public:
  explicit UnreadAnswers(UnreadLimits limits = {}) : limits_(limits) {}

  /// A call, and its answer. Return it to gRPC, which calls OnDone at the end; then it deletes
  /// itself.
  class Answer final : public grpc::ServerUnaryReactor {
   public:
    /// Ends the call. If `status` is OK, sends the answer, and counts its bytes until the caller
    /// has read it. Any thread. Hides the base's Finish. REQUIRES: called once; `response` of Begin
    /// is complete. Don't use this object afterwards.
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

  /// Begins a call, whose answer will be in `response`. Never null. REQUIRES: this object outlives
  /// the server; gRPC keeps `context` and `response` until OnDone.
  Answer* Begin(grpc::CallbackServerContext& context,
                const google::protobuf::MessageLite& response);
  /// A kUsual caller is refused once the unread answers have reached the budget; a kFirst caller
  /// (an operator) once they have reached twice the budget. So usual callers can't keep operators
  /// out.
  enum class Caller { kUsual, kFirst };
  /// Whether the caller must be refused, because too much is unread. If so, counts the refusal, and
  /// cuts off the answers that were not read in time: their callers get CANCELLED. This makes room
  /// for later calls, not for this one.
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

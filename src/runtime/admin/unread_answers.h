// UnreadAnswers: the answers of a service that callers have yet to read, within a budget of bytes.
//
// gRPC keeps an answer until its caller has made room for it or has gone, and a caller may do
// neither. If the budget is used up, new calls are refused before their answers are made, and
// answers that were not read in time are given up. Until then nothing is given up, because it
// harms nobody.
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
  /// Serialized bytes of answers. gRPC keeps the message as well: with it, answers with shards
  /// cost about seven times that.
  /// One answer may be longer: 1,000,000 shards are 100 MiB.
  std::size_t bytes = 16 << 20;
  Duration patience = std::chrono::seconds(30);  ///< as HTTP's for slow readers
};

/// Since the start.
struct UnreadCounts {
  std::atomic<std::uint64_t> refused{0};  ///< calls, while the budget was used up
  std::atomic<std::uint64_t> cut_off{0};  ///< answers that were not read in time
};

class UnreadAnswers {
 public:
  explicit UnreadAnswers(UnreadLimits limits = {}) : limits_(limits) {}

  /// A call. gRPC owns it from Begin on; it deletes itself.
  class Answer final : public grpc::ServerUnaryReactor {
   public:
    /// Sends the answer. It hides the base's, so that the answer is counted.
    void Finish(const grpc::Status& status);
    void OnDone() override;

   private:
    friend class UnreadAnswers;
    Answer(UnreadAnswers& owner, grpc::CallbackServerContext& context,
           const google::protobuf::MessageLite& response)
        : owner_(owner), context_(context), response_(response) {}

    UnreadAnswers& owner_;
    grpc::CallbackServerContext& context_;           // lives until OnDone
    const google::protobuf::MessageLite& response_;  // the same
    std::size_t bytes_ = 0;                          // guarded by the owner's mutex
    TimePoint since_{};
    std::list<Answer*>::iterator place_;
    bool kept_ = false;
    bool cut_off_ = false;
  };

  /// Begins a call whose answer will be in `response`. REQUIRES: this object outlives the server.
  Answer* Begin(grpc::CallbackServerContext& context,
                const google::protobuf::MessageLite& response);
  /// Callers who come first have twice the budget, so that others don't use theirs up.
  enum class Caller { kUsual, kFirst };
  /// True: too much is unread, so the caller is to be refused. Counts the refusal.
  bool Full(Caller caller);

  std::shared_ptr<const UnreadCounts> counts() const { return counts_; }
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

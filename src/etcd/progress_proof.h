// ProgressProof: which answers to progress requests prove what one watch stream has delivered.
//
// etcd 3.4.25, 3.5.8 and later answer only after they have delivered everything up to the answer's
// revision. Older versions answer with the store's revision even if the watch is behind, and the
// answer may overtake events (etcd #15220). A client can't see the version. So an answer becomes
// proof when a second answer comes, and all of these hold:
//  - The request for the second answer was sent a pause after the first answer.
//  - The second answer came in good time.
//  - No event came between the two answers.
//  - The last message with events was no full batch (kWatchBatch). After a full batch, more events
//    may follow.
//
// For an old version this is no strict proof. But a member that is behind would probably have sent
// an event between the two answers.
//
// Pure and single-threaded: owned by the watch cursor, one for each stream.
#pragma once

#include <cstddef>
#include <optional>

#include "baton/types.h"

namespace baton::etcd {

/// How many revisions etcd puts into one message, at most, for a watch that is behind.
inline constexpr std::size_t kWatchBatch = 1'000;

class ProgressProof {
 public:
  /// A request was sent. REQUIRES (not checked): if an answer came before, a pause has passed since
  /// then.
  void Asked();
  /// The last request got no answer in good time, so the member may have stood still. The last
  /// answer will not become proof.
  void Unanswered() { answer_.reset(); }
  /// A message with events of this many revisions came.
  void TakeEvents(std::size_t revisions);
  /// An answer came, for `revision`. Returns the revision of an earlier answer that became proof:
  /// everything up to there is delivered. Nullopt: nothing new is known.
  std::optional<Revision> TakeAnswer(Revision revision);

 private:
  /// An answer that is no proof yet. `under_way`: how many requests were unanswered when this
  /// answer came. The answers to these requests are ignored.
  struct Answer {
    Revision revision;
    int under_way = 0;
  };
  std::optional<Answer> answer_;
  int unanswered_ = 0;      ///< unanswered requests, up to a bound
  bool owes_more_ = false;  ///< the last events filled a batch
};

}  // namespace baton::etcd

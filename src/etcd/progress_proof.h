// ProgressProof: which answers to progress requests prove what one watch stream has delivered.
//
// etcd 3.4.25, 3.5.8 and later answer only if everything up to the answer's revision has been
// delivered. Older versions answer with the store's revision even if the watch is behind, and such
// an answer may overtake events (etcd #15220). A client can't see the version. So an answer is
// proof only once a second answer has followed, and all of these hold:
//  - The request for the second answer was sent a pause after the first answer, and the second
//    answer came in good time.
//  - No event came between the two answers.
//  - The last message with events was no full batch (kWatchBatch). After a full batch, more events
//    may follow.
//
// For an old version this is no proof, but it is plausible: a member that is behind would have sent
// an event between the two answers.
//
// Pure and single-threaded: owned by the watch cursor, one for each stream.
#pragma once

#include <cstddef>
#include <optional>

#include "baton/types.h"

namespace baton::etcd {

/// How many revisions etcd puts into one message for a watch that is behind.
inline constexpr std::size_t kWatchBatch = 1'000;

class ProgressProof {
 public:
  /// A request was sent. REQUIRES (not checked): a pause has passed since the last answer, if there
  /// was one.
  void Asked();
  /// The last request got no answer in good time, so the member may have stood still. The last
  /// answer will not become proof.
  void Unanswered() { answer_.reset(); }
  /// A message with events of this many revisions came.
  void TakeEvents(std::size_t revisions);
  /// An answer came, for `revision`. Returns the revision up to which everything is now known to be
  /// delivered: that of an earlier answer. Nullopt: nothing new is known.
  std::optional<Revision> TakeAnswer(Revision revision);

 private:
  /// An answer that does not count yet, and how many requests were unanswered when it came. Later
  /// answers to these requests say nothing new.
  struct Answer {
    Revision revision;
    int under_way = 0;
  };
  std::optional<Answer> answer_;
  int unanswered_ = 0;      ///< unanswered requests, up to a bound
  bool owes_more_ = false;  ///< the last events filled a batch
};

}  // namespace baton::etcd

// ProgressProof: which answers to progress requests prove what one watch stream has delivered.
//
// At etcd 3.4.25, 3.5.8 and later an answer proves that everything up to its revision has been
// delivered. Older ones answer with the store's revision even if the watch is behind, and such an
// answer may overtake events (etcd #15220). A client can't see the version, so one answer alone is
// never believed. It counts once a second one has come in good time, to a request that was sent a
// pause after the first answer, with no event in between. No answer counts while the last events
// filled a whole batch. For an old member this is no proof, but it is plausible: otherwise the
// member would have sent no event between the two answers although it is behind.
//
// Pure and single-threaded: owned by the watch cursor.
#pragma once

#include <cstddef>
#include <optional>

#include "baton/types.h"

namespace baton::etcd {

/// How many revisions etcd puts into one message for a watch that is behind.
inline constexpr std::size_t kWatchBatch = 1'000;

class ProgressProof {
 public:
  /// A request was sent. REQUIRES: a pause has passed since the last answer.
  void Asked();
  /// The last request has no answer in good time: the member may have stood still meanwhile.
  void Unanswered() { answer_.reset(); }
  /// A message with events of this many revisions came.
  void TakeEvents(std::size_t revisions);
  /// An answer came. Returns the revision up to which everything is now known to be delivered;
  /// nullopt: none is.
  std::optional<Revision> TakeAnswer(Revision revision);

 private:
  /// An answer that is not believed yet, and how many requests were under way when it came: as many
  /// answers say nothing new.
  struct Answer {
    Revision revision;
    int under_way = 0;
  };
  std::optional<Answer> answer_;
  int unanswered_ = 0;      ///< requests, up to a bound
  bool owes_more_ = false;  ///< the last events filled a batch
};

}  // namespace baton::etcd

// StatusSource: a node's newest picture for callers that want to wait for it, but not for ever.
//
// Thread-safe. However many threads ask, at most one request is on its way to the node: a loop that
// is stuck is not piled up with questions.
#pragma once

#include <chrono>
#include <memory>

#include "runtime/control.h"

namespace baton::runtime {

/// How long one scrape or one HTTP request waits for the node's loop.
inline constexpr std::chrono::milliseconds kStatusPatience{1000};

struct Picture {
  std::shared_ptr<const NodeStatus> status;       ///< null: the node never answered yet
  std::chrono::system_clock::time_point taken{};  ///< when it arrived here
  bool fresh = false;  ///< asked for by this call, not left from an earlier
};

class StatusSource {
 public:
  /// `control` must outlive this object; answers may arrive after it is gone.
  explicit StatusSource(Control& control, std::chrono::milliseconds patience = kStatusPatience);

  /// Asks, waits up to the patience, and falls back on the last picture.
  Picture Get();

 private:
  struct Shared;
  static void Ask(Control& control, const std::shared_ptr<Shared>& shared);

  Control& control_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace baton::runtime

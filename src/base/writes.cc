#include "base/writes.h"

namespace baton {

const char* ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone: return "done";
    case Outcome::kRefused: return "refused";
    case Outcome::kUnknown: return "unknown";
  }
  return "unknown";
}

}  // namespace baton

// How tests name ids in what they print.
#pragma once

#include <string>

#include "baton/types.h"

namespace baton {

inline std::string Text(ShardId shard) { return "shard " + std::to_string(shard.value); }
inline std::string Text(Term term) { return "term " + std::to_string(term.value); }
inline std::string Text(Revision revision) { return "revision " + std::to_string(revision.value); }

}  // namespace baton

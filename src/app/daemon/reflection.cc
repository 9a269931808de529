#include "app/daemon/reflection.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace baton::app {

Status OfferReflection() {
  if (dlopen(BATON_REFLECTION_LIBRARY, RTLD_NOW | RTLD_GLOBAL) != nullptr) return Ok();
  const char* const why = dlerror();
  return Error{ErrorCode::kUnavailable,
               fmt::format("--grpc-reflection: {}", why != nullptr ? why : "no such library")};
}

}  // namespace baton::app

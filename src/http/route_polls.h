// /v1/routes: reads a request, and writes its answer. No sockets, and no waiting.
//
// Pure functions; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "http/response.h"
#include "routing/server/route_hub.h"

namespace baton::http {

inline constexpr std::chrono::seconds kDefaultWait{30};
inline constexpr std::chrono::seconds kLongestWait{60};

struct RoutesQuestion {
  std::optional<Revision> after;  ///< unset: all routes, at once
  Duration wait{0};
};

/// Whether the path is /v1/routes.
bool IsRoutes(std::string_view target);
/// Reads a request, or returns the refusal.
std::variant<RoutesQuestion, Response> ParseRoutes(std::string_view target);
Response RoutesResponse(const Result<routing::RouteList>& answer);

}  // namespace baton::http

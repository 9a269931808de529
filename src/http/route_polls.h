// /v1/routes: what a request asks, and what its answer looks like. No sockets, no waiting here.
//
// Pure; any thread.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "http/response.h"
#include "routing/route_hub.h"

namespace baton::http {

inline constexpr std::chrono::seconds kDefaultWait{30};
inline constexpr std::chrono::seconds kLongestWait{60};

struct RoutesQuestion {
  std::optional<Revision> after;  ///< unset: all, at once
  Duration wait{0};
};

/// The path is /v1/routes.
bool IsRoutes(std::string_view target);
/// What `target` asks, or the refusal.
std::variant<RoutesQuestion, Response> ParseRoutes(std::string_view target);
Response RoutesResponse(const Result<routing::RouteList>& answer);

}  // namespace baton::http

#include "http/route_polls.h"

#include <fmt/format.h>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <charconv>
#include <string>
#include <utility>

#include "http/status_json.h"

namespace baton::http {
namespace {

constexpr std::string_view kPath = "/v1/routes";

Response Refusal(const std::string& line) { return ErrorResponse(400, kPath, line); }

/// Reads decimal digits only; unset for any other text.
std::optional<std::int64_t> Number(std::string_view digits) {
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failed] = std::from_chars(digits.data(), end, number);
  if (digits.empty() || digits.front() == '-' || failed != std::errc() || stop != end) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

bool IsRoutes(std::string_view target) { return target.substr(0, target.find('?')) == kPath; }

std::variant<RoutesQuestion, Response> ParseRoutes(std::string_view target) {
  const auto url = boost::urls::parse_origin_form(target);
  if (!url) return Refusal("the path is not percent-encoded as RFC 3986 says");
  const auto params = url->params();
  const auto after = params.find("after");
  const auto wait = params.find("wait");
  RoutesQuestion question;
  if (after != params.end()) {
    const auto revision = Number((*after).value);
    if (!revision) return Refusal("after is invalid; expected the revision of an earlier answer");
    question.after = Revision{*revision};
    question.wait = kDefaultWait;
  }
  if (wait == params.end()) return question;
  if (!question.after) return Refusal("wait without after; expected /v1/routes?after=REV&wait=30");
  const auto seconds = Number((*wait).value);
  if (!seconds || *seconds > kLongestWait.count()) {
    return Refusal(
        fmt::format("wait is invalid; expected whole seconds from 0 to {}", kLongestWait.count()));
  }
  question.wait = std::chrono::seconds(*seconds);
  return question;
}

Response RoutesResponse(const Result<routing::RouteList>& answer) {
  if (!answer) return ErrorResponse(503, kPath, answer.error().message);
  const routing::RouteList& list = answer.value();
  const RoutesStamp stamp{
      .group = list.group->group, .revision = list.revision, .age = list.age, .stale = list.stale};
  return {.status = 200,
          .content_type = "application/json",
          .body = std::make_shared<std::string>(RoutesJson(stamp, list.routes) + "\n")};
}

}  // namespace baton::http

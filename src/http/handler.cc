#include "http/handler.h"

#include <prometheus/text_serializer.h>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>
#include <utility>

#include "access/access.h"
#include "http/event_feed.h"
#include "http/overview_json.h"
#include "http/page_file.h"
#include "http/status_json.h"
#include "routing/lookup_key.h"
#include "runtime/metrics/status_source.h"
#include "runtime/metrics/text.h"

namespace baton::http {
namespace {

constexpr std::string_view kPaths =
    "/ /livez /readyz /metrics /metrics/shards /v1/shards /v1/shards/{s} /v1/lookup?key= "
    "/v1/routes?after=REV /v1/events?after=SEQ /v1/status /v1/overview /shards/{s}/leader";
constexpr std::string_view kShardPrefix = "/v1/shards/";

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

/// Returns the {s} of /shards/{s}/leader; unset for other paths.
std::optional<std::string_view> LeaderPath(std::string_view path) {
  constexpr std::string_view kBefore = access::kLeaderPathPrefix;
  constexpr std::string_view kAfter = access::kLeaderPathSuffix;
  if (!path.starts_with(kBefore) || !path.ends_with(kAfter)) return std::nullopt;
  if (path.size() <= kBefore.size() + kAfter.size()) return std::nullopt;
  return path.substr(kBefore.size(), path.size() - kBefore.size() - kAfter.size());
}

/// Reads decimal digits only; unset for other text, and for numbers that no shard can have.
std::optional<ShardId> ParseShard(std::string_view digits) {
  ShardId shard;
  const char* const end = digits.data() + digits.size();
  const auto [stop, failed] = std::from_chars(digits.data(), end, shard.value);
  if (digits.empty() || failed != std::errc() || stop != end) return std::nullopt;
  return shard;
}

std::string NoSuchShard(std::uint32_t count) {
  return "no such shard; expected a number from 0 to " + std::to_string(count - 1);
}

constexpr const char* kNoStatus = "the node did not answer within 1 s; see /livez";

}  // namespace

Handler::Handler(runtime::Control& control, MetricsSources metrics)
    : control_(control), metrics_(std::move(metrics)), source_(control) {
  control_.AddRouteObserver(ages_);
}

std::optional<Response> Handler::TryAnswer(std::string_view target) {
  const std::string_view path = PathOf(target);
  if (path == "/livez") {
    return control_.Alive() ? TextResponse(200, "ok")
                            : TextResponse(503, "the node's loop has not turned within TTL / 3");
  }
  if (path == "/readyz" && control_.Ready()) return TextResponse(200, control_.ReadyWords());
  if (const auto number = LeaderPath(path)) return LeaderIfKnown(*number);
  if (auto file = PageFile(path)) return file;
  const bool known = path == "/readyz" || path == "/metrics" || path == "/metrics/shards" ||
                     path == "/v1/shards" || path == "/v1/lookup" || path == "/v1/events" ||
                     path == "/v1/status" || path == "/v1/overview" ||
                     path.starts_with(kShardPrefix);
  if (known) return std::nullopt;
  const std::string answer = "no such path; expected one of " + std::string(kPaths);
  return ErrorResponse(404, path, answer);
}

Response Handler::Answer(std::string_view target) {
  if (auto quick = TryAnswer(target)) return *std::move(quick);
  const std::string_view path = PathOf(target);
  if (path == "/readyz") return NotReady();
  if (path == "/metrics") return Scrape(metrics_.node);
  if (path == "/metrics/shards") return Scrape(metrics_.shards);
  if (path == "/v1/shards") return Shards();
  if (path == "/v1/lookup") return Lookup(target);
  if (path == "/v1/events") return Events(target);
  if (path == "/v1/status") return Status();
  if (path == "/v1/overview") return Overview();
  if (const auto number = LeaderPath(path)) return Leader(*number);
  return Shard(path.substr(kShardPrefix.size()));
}

runtime::LatestStatus Handler::Look() {
  runtime::LatestStatus latest = source_.Get();
  if (latest.status != nullptr) shard_count_ = latest.status->shard_count;
  return latest;
}

Response Handler::NotReady() {
  const runtime::LatestStatus latest = Look();
  if (control_.Ready()) return TextResponse(200, control_.ReadyWords());
  if (!latest.fresh) return TextResponse(503, kNoStatus);
  const runtime::NodeStatus& status = *latest.status;
  if (status.halted) return TextResponse(503, "halted: " + status.halted->message);
  return TextResponse(503, status.not_ready.empty() ? "not ready" : status.not_ready);
}

Response Handler::Scrape(
    const std::vector<std::shared_ptr<prometheus::Collectable>>& sources) const {
  std::vector<prometheus::MetricFamily> families;
  std::string text;
  for (const auto& source : sources) {
    if (const auto* writer = dynamic_cast<const runtime::TextCollectable*>(source.get())) {
      writer->AppendText(text);
      continue;
    }
    for (prometheus::MetricFamily& family : source->Collect()) {
      families.push_back(std::move(family));
    }
  }
  if (!families.empty()) text += prometheus::TextSerializer().Serialize(families);
  return {.status = 200,
          .content_type = "text/plain; version=0.0.4; charset=utf-8",
          .body = std::make_shared<std::string>(std::move(text))};
}

Response Handler::Shards() {
  const runtime::LatestStatus latest = Look();
  if (!latest.fresh) return JsonError(503, kNoStatus);
  const std::lock_guard lock(mutex_);
  if (rendered_ != latest.status) {
    shards_body_ = Line(ShardsJson(*latest.status));
    rendered_ = latest.status;
  }
  return JsonResponse(200, shards_body_);
}

Response Handler::Shard(std::string_view number) {
  const runtime::LatestStatus latest = Look();
  if (!latest.fresh) return JsonError(503, kNoStatus);
  const std::uint32_t count = latest.status->shard_count;
  if (count == 0) return JsonError(503, "the node has not read the group's shard count yet");
  const std::optional<ShardId> shard = ParseShard(number);
  std::optional<std::string> body;
  if (shard) body = ShardJson(*latest.status, *shard);
  if (!body) return JsonError(404, NoSuchShard(count));
  return JsonResponse(200, Line(*std::move(body)));
}

Response Handler::Lookup(std::string_view target) {
  const auto url = boost::urls::parse_origin_form(target);
  if (!url) return JsonError(400, "the path is not percent-encoded as RFC 3986 says");
  const auto params = url->params(boost::urls::encoding_opts{});  // '+' stays '+'
  const auto key = params.find("key");
  if (key == params.end()) return JsonError(400, "no key; expected /v1/lookup?key=KEY");
  const runtime::LatestStatus latest = Look();
  if (!latest.fresh) return JsonError(503, kNoStatus);
  const runtime::NodeStatus& status = *latest.status;
  const auto shard = routing::ShardOfKey((*key).value, status);
  if (!shard) {
    const bool unknown = shard.error().code == ErrorCode::kUnavailable;
    return JsonError(unknown ? 503 : 400, shard.error().message);
  }
  auto body = LookupJson(status, shard.value());
  if (!body) return JsonError(503, "the node does not know the group's shards yet");
  return JsonResponse(200, Line(*std::move(body)));
}

Response Handler::Events(std::string_view target) const {
  const auto parsed = ParseEvents({.target = target, .accept = {}, .last_event_id = {}});
  if (const auto* refusal = std::get_if<Response>(&parsed)) return *refusal;
  const auto history = control_.history();
  if (history == nullptr) return NoHistory();
  return EventsResponse(*history, std::get<EventsQuestion>(parsed));
}

Response Handler::Status() {
  const runtime::LatestStatus latest = Look();
  if (!latest.fresh) return JsonError(503, kNoStatus);
  return JsonResponse(200, Line(StatusJson(*latest.status)));
}

Response Handler::Overview() {
  const runtime::LatestStatus latest = Look();
  if (!latest.fresh) return JsonError(503, kNoStatus);
  return JsonResponse(
      200,
      Line(OverviewJson(
          {.status = *latest.status, .ages = *ages_, .control = control_, .taken = latest.taken})));
}

std::optional<Response> Handler::LeaderIfKnown(std::string_view number) const {
  const std::optional<ShardId> shard = ParseShard(number);
  if (shard) {
    const Leadership leadership = control_.LeadershipOf(*shard);
    if (leadership.leads && leadership.activated) return TextResponse(200, "leader");
  }
  const std::uint32_t count = shard_count_;
  if (count == 0) return std::nullopt;
  if (!shard || shard->value >= count) return TextResponse(404, NoSuchShard(count));
  return TextResponse(503, "not the leader");
}

Response Handler::Leader(std::string_view number) {
  Look();  // sets the shard count
  if (auto known = LeaderIfKnown(number)) return *std::move(known);
  return TextResponse(503, "the node has not read the group's shard count yet");
}

}  // namespace baton::http

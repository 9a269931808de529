// messages: a node's answers to batonctl (baton.v1.AdminService), from protobuf's bytes to our
// values and to the JSON that batonctl prints.
//
// Must hold: any bytes that protobuf parses can be read and printed (a diagnosis is only read).
// A message that was read can be written and read again as the same. A later clock is ahead.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "fuzz/targets.h"
#include "http/history_json.h"
#include "http/status_json.h"
#include "runtime/admin/diagnosis_proto.h"
#include "runtime/admin/history_proto.h"
#include "runtime/admin/status_proto.h"
#include "runtime/doctor/judgement.h"

namespace baton::fuzz {
namespace {

namespace v1 = ::baton::v1;

template <typename Message>
bool Parsed(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// Writes maps in the order of their keys.
template <typename Message>
std::string Written(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string Written(const runtime::NodeStatus& status) {
  v1::NodeStatus message;
  runtime::ToProto(status, true, &message);
  return Written(message);
}

void RunStatus(std::string_view bytes) {
  v1::NodeStatus message;
  if (!Parsed(bytes, message)) return;
  const runtime::NodeStatus status = runtime::FromProto(message);
  v1::NodeStatus again;
  Must(Parsed(Written(status), again), "what is written can be read");
  Must(Written(runtime::FromProto(again)) == Written(status), "a status reads as it was written");
  MustBeJson(http::StatusJson(status, runtime::LiveMoves(status)));
  MustBeJson(http::ShardsJson(status));
  MustBeJson(http::NodesJson(status));
  MustBeJson(http::MovesJson(runtime::LiveMoves(status)));
  for (const runtime::ShardStatus& shard : status.shards) {
    const auto one = http::ShardJson(status, shard.shard);
    if (one) MustBeJson(*one);
    const auto found = http::LookupJson(status, shard.shard);
    if (found) MustBeJson(*found);
  }
}

template <typename Message>
void RunEvents(std::string_view bytes) {
  Message message;
  if (!Parsed(bytes, message)) return;
  const runtime::HistoryPage page = runtime::FromProto(message);
  Must(page.events.size() == static_cast<std::size_t>(message.events_size()), "each event is read");
  MustBeJson(http::EventsJson(page));
  Message once;
  runtime::ToProto(page, &once);
  Message twice;
  runtime::ToProto(runtime::FromProto(once), &twice);
  Must(Written(once) == Written(twice), "a history reads as it was written");
}

void RunMove(std::string_view bytes) {
  v1::MoveStatus message;
  if (!Parsed(bytes, message)) return;
  const v1::MoveStatus once = runtime::ToProto(runtime::FromProto(message));
  const v1::MoveStatus twice = runtime::ToProto(runtime::FromProto(once));
  Must(Written(once) == Written(twice), "a move reads as it was written");
}

void RunDiagnosis(std::string_view bytes) {
  v1::DiagnoseResponse message;
  if (!Parsed(bytes, message)) return;
  const runtime::Diagnosis diagnosis = runtime::FromProto(message);
  Must(diagnosis.findings.size() == static_cast<std::size_t>(message.findings_size()),
       "each finding is read");
  v1::DiagnoseResponse once;
  runtime::ToProto(diagnosis, &once);
  v1::DiagnoseResponse twice;
  runtime::ToProto(runtime::FromProto(once), &twice);
  Must(Written(once) == Written(twice), "a diagnosis reads as it was written");
  const std::chrono::system_clock::time_point ours{std::chrono::seconds(1'700'000'000)};
  const std::string difference = runtime::ClockDifference(ours, diagnosis.at, ours).what;
  MustBeOneLine(difference);
  const bool later = message.at().seconds() > 1'700'000'010;
  Must(!later || difference.find("ahead of") != std::string::npos, "a later clock is ahead",
       difference);
}

constexpr void (*kKinds[])(std::string_view) = {RunStatus, RunEvents<v1::ListEventsResponse>,
                                                RunEvents<v1::WatchEventsResponse>, RunMove,
                                                RunDiagnosis};

v1::NodeStatus Status() {
  v1::NodeStatus status;
  status.set_group("orders");
  status.set_node("n1");
  status.set_shard_count(2);
  status.set_revision(900);
  status.mutable_view_age()->set_seconds(1);
  status.mutable_ttl()->set_seconds(10);
  v1::MemberStatus& member = *status.add_members();
  member.set_node("n1");
  member.set_live(true);
  member.mutable_ttl()->set_seconds(10);
  v1::ShardStatus& shard = *status.add_shards();
  shard.set_leader("n1");
  shard.set_term(800);
  shard.mutable_move()->set_to("n2");
  v1::TransitionStatus& recent = *status.add_recent();
  recent.mutable_elect()->set_nanos(7'000'000);
  (*status.mutable_counters()->mutable_moves())["done"] = 3;
  return status;
}

v1::ListEventsResponse Events() {
  v1::ListEventsResponse events;
  events.set_group("orders");
  events.set_node("n1");
  events.mutable_started()->set_seconds(1'700'000'000);
  events.set_first(1);
  events.set_last(1);
  v1::Event& event = *events.add_events();
  event.set_seq(1);
  event.mutable_at()->set_seconds(1'700'000'001);
  event.mutable_gap()->mutable_elect()->set_nanos(7'000'000);
  return events;
}

v1::DiagnoseResponse Diagnosis() {
  v1::DiagnoseResponse diagnosis;
  diagnosis.set_group("orders");
  diagnosis.set_node("n1");
  diagnosis.mutable_at()->set_seconds(1'700'000'000);
  v1::Finding& finding = *diagnosis.add_findings();
  finding.set_check("session");
  finding.set_severity(v1::Finding::SEVERITY_OK);
  finding.set_what("the lease is confirmed");
  return diagnosis;
}

}  // namespace

void RunMessages(std::string_view bytes) {
  Input input(bytes);
  const auto kind = kKinds[input.Choice(std::size(kKinds))];
  kind(input.Rest());
}

std::vector<Seed> MessagesSeeds() {
  const auto of = [](int kind, const std::string& bytes) {
    return std::string(1, static_cast<char>(kind)) + bytes;
  };
  v1::NodeStatus late = Status();
  late.mutable_view_age()->set_seconds(300'000'000'000);  // the longest that protobuf allows
  v1::ListEventsResponse old = Events();
  old.mutable_started()->set_seconds(-62'135'596'800);  // the year 1
  v1::DiagnoseResponse at_the_end = Diagnosis();
  at_the_end.mutable_at()->set_seconds(253'402'300'799);  // the last that protobuf allows
  v1::MoveStatus move;
  move.set_from("n1");
  move.set_to("n2");
  return {{"status", of(0, Status().SerializeAsString())},
          {"status-late", of(0, late.SerializeAsString())},
          {"events", of(1, Events().SerializeAsString())},
          {"events-old", of(1, old.SerializeAsString())},
          {"events-watched", of(2, Events().SerializeAsString())},
          {"move", of(3, move.SerializeAsString())},
          {"diagnosis", of(4, Diagnosis().SerializeAsString())},
          {"diagnosis-late", of(4, at_the_end.SerializeAsString())}};
}

}  // namespace baton::fuzz
